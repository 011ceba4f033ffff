import Foundation
import Glibc

/// TCP on 127.0.0.1.
enum Loopback {
    struct Failure: Error, CustomStringConvertible {
        let what: String
        let number = errno

        var description: String { "\(what): \(String(cString: strerror(number)))" }
    }

    /// - Returns: a blocking socket, which the caller closes.
    static func connect(port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(what: "no socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            let failure = Failure(what: "no connection to 127.0.0.1:\(port)")
            close(descriptor)
            throw failure
        }
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
        return descriptor
    }
}
