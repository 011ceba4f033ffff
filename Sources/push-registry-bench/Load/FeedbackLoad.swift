import Foundation

/// Calls of feedback, each with thousands of items, from a few clients. Each client sends its next call after the
/// response to the last.
struct FeedbackLoad: Sendable {
    /// One for each of two event loops: the service handles one call of a loop at a time.
    static let clients = 2

    let port: UInt16
    /// Complete requests.
    let calls: [[UInt8]]

    struct Result: Sendable {
        let seconds: Double
        /// The number of responses that were not 200.
        let failures: Int
        /// The sums of the responses' counts, by member.
        let counts: [String: Int]
    }

    func run() async throws -> Result {
        let start = Monotonic.microseconds
        let responses = try await withThrowingTaskGroup(of: [Response].self) { group in
            for client in 0..<Self.clients { group.addTask { try await send(from: client) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return Result(
            seconds: Double(Monotonic.microseconds - start) / 1_000_000, failures: responses.count { $0.status != 200 },
            counts: responses.reduce(into: [:]) { $0.merge($1.counts, uniquingKeysWith: +) })
    }

    private struct Response: Sendable {
        let status: Int
        let counts: [String: Int]
    }

    /// Sends every `clients`-th call. **Blocks** its thread; there is one thread for each client.
    @concurrent private func send(from client: Int) async throws -> [Response] {
        let channel = PlainChannel(descriptor: try Loopback.connect(port: port))
        defer { channel.close() }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        return try stride(from: client, to: calls.count, by: Self.clients).map { number in
            let count = try buffer.withUnsafeMutableBytes { try channel.exchange(calls[number], into: $0) }
            return try Self.parse(buffer[..<count])
        }
    }

    private static func parse(_ bytes: ArraySlice<UInt8>) throws -> Response {
        let text = String(decoding: bytes, as: UTF8.self)
        let body = text.range(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
        let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Response(
            status: status, counts: (try? JSONDecoder().decode([String: Int].self, from: Data(body.utf8))) ?? [:])
    }
}
