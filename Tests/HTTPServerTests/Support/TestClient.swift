import Foundation
import Glibc
import HTTPServer

/// A simple blocking client. It parses responses without the server's code.
final class TestClient: @unchecked Sendable {
    struct Response: Equatable {
        var status = 0
        var fields: [String: String] = [:]
        /// The body as received.
        var bytes: [UInt8] = []
        var body: String { String(decoding: bytes, as: UTF8.self) }
    }

    enum Failure: Error, Equatable {
        case timeout, ended, reset
        case malformed(String)
    }

    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var isClosed = false

    /// - Parameter receiveBufferBytes: a small buffer fills sooner when the test does not read.
    init(_ port: UInt16, receiveBufferBytes: CInt? = nil) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBufferBytes {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Failure.reset }
    }

    deinit { close() }

    func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { throw errno == EAGAIN ? Failure.timeout : Failure.reset }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Sends as much as the system accepts at once.
    ///
    /// - Returns: the number of accepted bytes.
    func sendWithoutWaiting(_ bytes: ArraySlice<UInt8>) -> Int {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return bytes.count - rest.count
    }

    /// Reads the next response.
    func response(toHead isHead: Bool = false) throws -> Response {
        var response = Response()
        let lines = try line(until: "\r\n\r\n").components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ")
        guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
            throw Failure.malformed(lines[0])
        }
        response.status = status
        for line in lines.dropFirst() where !line.isEmpty {
            let colon = line.firstIndex(of: ":")!
            response.fields[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        if !isHead { response.bytes = try body(response) }
        return response
    }

    private func body(_ response: Response) throws -> [UInt8] {
        if response.fields["transfer-encoding"] == "chunked" { return try chunks() }
        if let length = response.fields["content-length"].flatMap({ Int($0) }) { return try takeBytes(length) }
        return response.status == 204 || response.status < 200 ? [] : try restBytes()
    }

    private func chunks() throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let chunk = try chunk()
            if chunk.isEmpty { return body }
            body += chunk
        }
    }

    /// The next chunk of a body; empty at its end.
    func chunk() throws -> [UInt8] {
        guard let size = Int(try line(until: "\r\n").trimmingCharacters(in: .newlines), radix: 16) else {
            throw Failure.malformed("chunk size")
        }
        let chunk = try takeBytes(size + 2)
        guard chunk[size...] == [13, 10] else { throw Failure.malformed("chunk") }
        return Array(chunk[..<size])
    }

    /// Everything up to the end of the connection.
    func rest() throws -> String { text(try restBytes()) }

    private func restBytes() throws -> [UInt8] {
        do {
            while true { try fill() }
        } catch Failure.ended {
            defer { buffer = [] }
            return buffer
        }
    }

    private func line(until end: String) throws -> String {
        let end = Array(end.utf8)
        while true {
            if let range = buffer.firstRange(of: end) { return try text(takeBytes(range.upperBound)) }
            try fill()
        }
    }

    private func takeBytes(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { try fill() }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Waits for the server's RST without reading.
    func waitForReset() -> Bool {
        var watched = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&watched, 1, 30_000) == 1
    }

    private func fill() throws {
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(descriptor, &piece, piece.count, 0)
        if count == 0 { throw Failure.ended }
        guard count > 0 else { throw errno == EAGAIN ? Failure.timeout : Failure.reset }
        buffer.append(contentsOf: piece[..<count])
    }

    /// Sends FIN; responses can still be read.
    func finishSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    /// Closes with RST.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }
}

extension TestClient {
    /// Sends a request without a body and reads its response.
    func get(_ path: String, _ fields: String = "") throws -> Response {
        try send("GET \(path) HTTP/1.1\r\nHost: test\r\n\(fields)\r\n")
        return try response()
    }

    func post(_ path: String, _ body: String) throws -> Response {
        try send("POST \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        return try response()
    }
}
