import Foundation
import Subprocess

/// `wrk`: requests over keep-alive connections, on one thread. Each connection sends its next request after the last
/// response: a closed loop.
struct Wrk: Sendable {
    /// Slower responses are failures.
    private static let timeoutSeconds = 60
    /// Longer than what a load runs beside.
    private static let besideSecondsMax = 24 * 3_600
    /// Part of the requests that are sent only once: the others are left for the measurement.
    private static let warmUpShare = 4

    let port: UInt16
    let connections: Int
    var scheme = "http"

    /// What wrk's script finds in the responses that a benchmark expects.
    enum Expectation: String, Sendable {
        /// wrk parses no responses, and counts errors.
        case noError = ""
        case unchanged = #""status":"unchanged""#
        case updated = #""status":"updated""#
        case created = #""status":"created""#
        case loggedOut = #""status":"loggedOut""#
        case posted = #"{"notifications":[{"#
        case nothingMissed = #","notifications":[],"#
        /// The script adds up the integer members of the responses.
        case counts

        /// Whether wrk takes longer to parse the responses than the service to send them. Then only those of the
        /// warm-up are checked.
        fileprivate var isOfReads: Bool { self == .unchanged || self == .nothingMissed }
    }

    struct Result: Decodable, Sendable {
        /// Of responses.
        let count: Int
        let seconds: Double
        let p99Milliseconds: Double
        /// Responses that were not 2xx, and broken connections.
        let failures: Int
        /// The number of responses that were as expected.
        let expected: Int
        /// The sums of the responses' integer members, by name.
        let counts: [String: Int]
        var expectedShare: Double { Double(expected) / Double(max(count, 1)) }
        fileprivate let sent: Int
        fileprivate let position: Int

        fileprivate static let none = Result(
            count: 0, seconds: 0, p99Milliseconds: 0, failures: 0, expected: 0, counts: [:],
            sent: 0, position: 0)
    }

    /// Sends requests without measuring, before a measurement.
    ///
    /// - Parameter requests: nil for `GET /healthz`, as in all functions.
    @discardableResult
    func warmUp(
        _ requests: RequestFile?, expecting expectation: Expectation = .noError, for duration: Duration
    ) async throws -> Result {
        let limit = requests.map { $0.order == .once ? $0.left / Self.warmUpShare : .max } ?? .max
        return try await run(requests, expecting: expectation, atMost: limit) { try await Task.sleep(for: duration) }
    }

    /// Warms up, then sends requests until the time is over or until every request of an order `once` has its response.
    ///
    /// - Parameters:
    ///   - before: reads the CPU time at the start of the measurement.
    ///   - after: reads it at the end.
    func measure(
        _ requests: RequestFile?, expecting expectation: Expectation, warmUp: Duration, seconds: Int,
        before: () throws -> CPUReading, after: () async throws -> CPUReading
    ) async throws -> Measurement {
        let isOfReads = expectation.isOfReads
        let warmedUp = try await self.warmUp(requests, expecting: isOfReads ? expectation : .noError, for: warmUp)
        let start = try before()
        let result = try await run(requests, expecting: isOfReads ? .noError : expectation, seconds: seconds)
        let cpu = try await after() - start
        let expectedShare = expectation == .noError ? nil : (isOfReads ? warmedUp : result).expectedShare
        return Measurement(result, cpu, expectedShare: expectedShare)
    }

    /// Sends requests until the time is over, or until every request of an order `once` has its response.
    func run(
        _ requests: RequestFile?, expecting expectation: Expectation = .noError, seconds: Int
    ) async throws -> Result {
        guard requests?.left != 0 else { return .none }
        return try await withScript { script in
            try await finish(
                requests, Self.binary().run(arguments(requests, script, expectation, seconds: seconds, atMost: .max)))
        }
    }

    /// Sends requests while `body` runs.
    func run(
        _ requests: RequestFile?, expecting expectation: Expectation = .noError, atMost limit: Int = .max,
        during body: () async throws -> Void
    ) async throws -> Result {
        guard requests?.left != 0, limit > 0 else {
            try await body()
            return .none
        }
        let output = Self.temporaryFile("log")
        defer { try? FileManager.default.removeItem(at: output) }
        return try await withScript { script in
            let arguments = try arguments(
                requests, script, expectation, seconds: Self.besideSecondsMax, atMost: limit)
            // wrk ignores the first signal if it has not started yet.
            try await Self.binary().with(
                arguments, environment: [:], log: output, end: [.interrupt, .interrupt]
            ) { _ in try await body() }
            return try finish(requests, String(contentsOf: output, encoding: .utf8))
        }
    }

    private static func binary() throws -> Binary {
        do { return try Binary.onPath("wrk") } catch { throw BenchmarkFailure("wrk is not installed: apt install wrk") }
    }

    private func arguments(
        _ requests: RequestFile?, _ script: URL, _ expectation: Expectation, seconds: Int, atMost limit: Int
    ) throws -> [String] {
        let own = [
            "--threads", "1", "--connections", "\(connections)", "--duration", "\(seconds)", "--timeout",
            "\(Self.timeoutSeconds)", "--script", script.path, "\(scheme)://127.0.0.1:\(port)/healthz", "--",
            "\(connections)",
        ]
        return try own + (requests.map { try $0.arguments(atMost: limit) + [expectation.rawValue] } ?? [])
    }

    private func withScript<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let script = Self.temporaryFile("lua")
        try Data(PackageResources.wrk_lua).write(to: script)
        defer { try? FileManager.default.removeItem(at: script) }
        return try await body(script)
    }

    private static func temporaryFile(_ type: String) -> URL {
        FileManager.default.temporaryDirectory.appending(path: "push-registry-wrk-\(UUID().uuidString).\(type)")
    }

    /// The script prints its line after what wrk prints.
    private func finish(_ requests: RequestFile?, _ output: String) throws -> Result {
        guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("{") }) else {
            throw BenchmarkFailure("wrk printed no results: \(output)")
        }
        let result = try JSONDecoder().decode(Result.self, from: Data(line.utf8))
        requests?.advance(sent: result.sent, position: result.position)
        return result
    }
}
