import Foundation

/// Calls of feedback, each with thousands of items: a few clients, each of which sends its next call when it has the
/// answer to the last.
struct FeedbackLoad: Sendable {
    /// One for each of two event loops: the service carries one call of a loop at a time.
    static let clients = 2

    let port: UInt16
    /// Whole requests.
    let calls: [[UInt8]]

    struct Result: Sendable {
        let seconds: Double
        /// The answers that were not 200.
        let failures: Int
        /// What the answers counted, by their members.
        let counts: [String: Int]
    }

    func run() async throws -> Result {
        let start = Monotonic.microseconds
        let answers = try await withThrowingTaskGroup(of: [Answer].self) { group in
            for client in 0..<Self.clients { group.addTask { try await send(from: client) } }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return Result(
            seconds: Double(Monotonic.microseconds - start) / 1_000_000, failures: answers.count { $0.status != 200 },
            counts: answers.reduce(into: [:]) { $0.merge($1.counts, uniquingKeysWith: +) })
    }

    private struct Answer: Sendable {
        let status: Int
        let counts: [String: Int]
    }

    /// Every so manieth call. **Blocks** its thread, of which there is one for each client.
    @concurrent private func send(from client: Int) async throws -> [Answer] {
        let channel = PlainChannel(descriptor: try Loopback.connect(port: port))
        defer { channel.close() }
        var answer = [UInt8](repeating: 0, count: 4_096)
        return try stride(from: client, to: calls.count, by: Self.clients).map { number in
            let count = try answer.withUnsafeMutableBytes { try channel.exchange(calls[number], into: $0) }
            return try Self.parse(answer[..<count])
        }
    }

    private static func parse(_ bytes: ArraySlice<UInt8>) throws -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        let body = text.range(of: "\r\n\r\n").map { text[$0.upperBound...] } ?? ""
        let status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(
            status: status, counts: (try? JSONDecoder().decode([String: Int].self, from: Data(body.utf8))) ?? [:])
    }
}
