import Foundation
import Glibc

/// TCP on 127.0.0.1.
enum Loopback {
    struct Failure: Error, CustomStringConvertible {
        let what: String
        let number = errno

        var description: String { "\(what): \(String(cString: strerror(number)))" }
    }

    /// A port that is free now. Another process may take it.
    static func freePort() throws -> UInt16 {
        let descriptor = try makeSocket()
        defer { close(descriptor) }
        var address = makeAddress(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isNamed = withSocketAddress(&address) { pointer in
            bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
        }
        guard isNamed else { throw Failure(what: "no free port") }
        return UInt16(bigEndian: address.sin_port)
    }

    static func connect(port: UInt16) throws -> CInt {
        let descriptor = try makeSocket()
        var address = makeAddress(port: port)
        let isConnected = withSocketAddress(&address) {
            Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
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

    /// Sends one request on a new connection and waits for the response. **Blocks**, for five seconds at most.
    static func exchange(
        _ method: String, _ path: String, port: UInt16, key: String? = nil, body: String = ""
    ) throws -> (status: Int, body: String) {
        let descriptor = try connect(port: port)
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var request = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if let key { request += "Authorization: Bearer \(key)\r\n" }
        if method != "GET" { request += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        request += "\r\n\(body)"
        guard send(descriptor, request, request.utf8.count, CInt(MSG_NOSIGNAL)) == request.utf8.count else {
            throw Failure(what: "\(method) \(path)")
        }
        return try parse(receiveAll(descriptor), of: "\(method) \(path)")
    }

    private static func receiveAll(_ descriptor: CInt) -> [UInt8] {
        var response: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return response }
            response += chunk[..<count]
        }
    }

    private static func parse(_ response: [UInt8], of what: String) throws -> (status: Int, body: String) {
        let text = String(decoding: response, as: UTF8.self)
        guard let status = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }),
            let end = text.range(of: "\r\n\r\n")
        else { throw Failure(what: "\(what): no response") }
        return (status, String(text[end.upperBound...]))
    }

    private static func makeSocket() throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(what: "no socket") }
        return descriptor
    }

    private static func makeAddress(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func withSocketAddress<Value>(
        _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Value
    ) -> Value {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
