import Foundation
import Glibc

/// Clients with a thread and a connection each, which send a request after each response: for what wrk cannot send.
struct BlockingClients: Sendable {
    private static let clients = 16
    private static let responseBytesMax = 16_384

    let port: UInt16
    /// Sent again and again, each by one client.
    let requests: [[UInt8]]
    /// Whether a request's head and its body are sent apart, as most HTTP libraries do.
    let sendsBodyApart: Bool

    struct Result {
        let count: Int
        let seconds: Double
        /// The share of responses that contained the expected text.
        let expectedShare: Double
    }

    /// - Parameter expected: part of each response.
    func run(expecting expected: String, seconds: Double) async throws -> Result {
        let start = ContinuousClock.now
        let counts = try await withThrowingTaskGroup(of: (count: Int, expected: Int).self) { group in
            for client in 0..<Self.clients {
                group.addTask { try await onThread(client, expected, until: start + .seconds(seconds)) }
            }
            return try await group.reduce(into: (0, 0)) { $0 = ($0.0 + $1.count, $0.1 + $1.expected) }
        }
        return Result(
            count: counts.0, seconds: (ContinuousClock.now - start) / .seconds(1),
            expectedShare: Double(counts.1) / Double(max(counts.0, 1)))
    }

    private func onThread(
        _ client: Int, _ expected: String, until end: ContinuousClock.Instant
    ) async throws -> (count: Int, expected: Int) {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Swift.Result { try send(client, expected, until: end) }) }.start()
        }
    }

    private func send(
        _ client: Int, _ expected: String, until end: ContinuousClock.Instant
    ) throws -> (count: Int, expected: Int) {
        let descriptor = try Loopback.connect(port: port)
        defer { close(descriptor) }
        let own = stride(from: client, to: requests.count, by: Self.clients).map { request in
            (bytes: requests[request], split: sendsBodyApart ? Self.headByteCount(requests[request]) : 0)
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.responseBytesMax, alignment: 1)
        defer { buffer.deallocate() }
        let wanted = Array(expected.utf8)
        var (count, found) = (0, 0)
        while ContinuousClock.now < end {
            let request = own[count % own.count]
            if request.split > 0 { try send(request.bytes[..<request.split], on: descriptor) }
            try send(request.bytes[request.split...], on: descriptor)
            // A response arrives in one piece.
            let received = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard received > 0 else { throw Loopback.Failure(what: "no response") }
            count += 1
            if Self.contains(wanted, buffer.prefix(received)) { found += 1 }
        }
        return (count, found)
    }

    private func send(_ bytes: ArraySlice<UInt8>, on descriptor: CInt) throws {
        let sent = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        guard sent == bytes.count else { throw Loopback.Failure(what: "the request was not sent") }
    }

    private static func headByteCount(_ request: [UInt8]) -> Int {
        let end = Array("\r\n\r\n".utf8)
        return request.indices.first { request[$0...].starts(with: end) }.map { $0 + end.count } ?? 0
    }

    private static func contains(_ wanted: [UInt8], _ bytes: Slice<UnsafeMutableRawBufferPointer>) -> Bool {
        wanted.isEmpty || bytes.indices.contains { bytes[$0] == wanted[0] && bytes[$0...].starts(with: wanted) }
    }
}
