import Foundation
import Glibc
import Testing

/// Listens on a free port of 127.0.0.1, and serves each connection on a thread of its own.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let descriptor: CInt

    /// - Parameter serve: owns the connection's descriptor.
    init(_ serve: @escaping @Sendable (CInt) -> Void) throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        try #require(isListening)
        (descriptor, port) = (listener, UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread {
            while case let client = accept(listener, nil, nil), client >= 0 {
                Thread.detachNewThread { serve(client) }
            }
            close(listener)
        }
    }

    /// Ends `accept`, after which its thread closes the descriptor.
    deinit { shutdown(descriptor, CInt(SHUT_RDWR)) }
}
