import Basics
import Foundation

/// Requests created in advance, in a file that wrk reads while it sends them. The file is written before the first use,
/// and removed with this object. The next run continues where the last one ended, so that an installation with changed
/// settings does not get the same settings again.
final class RequestFile: Sendable {
    enum Order: Sendable {
        /// Shuffled, again and again: the first variants of all requests, then the second ones in the same order.
        case cyclic
        /// As given, each once.
        case once
    }

    private struct State {
        var isWritten = false
        var sent = 0
        /// The offset of the next request.
        var position = 0
    }

    private static let chunkBytes = 1_024 * 1_024
    private static let lengthDigits = 8
    private static let seed: UInt64 = 1

    let count: Int
    let order: Order
    private let numbers: [Int]
    private let variants: Int
    private let makeRequest: @Sendable (_ number: Int, _ variant: Int) throws -> [UInt8]
    private let file = FileManager.default.temporaryDirectory.appending(
        path: "push-registry-bench-\(UUID().uuidString).requests")
    private let state = Locked(State())

    /// - Parameters:
    ///   - numbers: one for each request of each variant.
    ///   - variants: the number of different requests for each number.
    ///   - makeRequest: returns the request of a number and a variant (from 0).
    init(
        _ numbers: some Sequence<Int>, variants: Int = 1, _ order: Order,
        makeRequest: @escaping @Sendable (_ number: Int, _ variant: Int) throws -> [UInt8]
    ) {
        var generator = SeededGenerator(seed: Self.seed)
        self.numbers = order == .cyclic ? numbers.shuffled(using: &generator) : Array(numbers)
        count = self.numbers.count * variants
        (self.variants, self.order, self.makeRequest) = (variants, order, makeRequest)
    }

    deinit { try? FileManager.default.removeItem(at: file) }

    /// The number of requests of an order `once` that were not sent yet.
    var left: Int { order == .once ? count - state.withLock { $0.sent } : count }

    /// The arguments of wrk's script for the next requests: file, offset, and number of requests.
    func arguments(atMost limit: Int) throws -> [String] {
        try state.withLock { state in
            if !state.isWritten { try write() }
            state.isWritten = true
            let number = order == .once ? "\(min(limit, count - state.sent))" : "cyclic"
            return [file.path, "\(state.position)", number]
        }
    }

    /// Continues after the requests of a run.
    func advance(sent: Int, position: Int) {
        state.withLock {
            $0.sent += sent
            $0.position = position
        }
    }

    /// Starts again with the first request.
    func rewind() {
        state.withLock { ($0.sent, $0.position) = (0, 0) }
    }

    /// Makes the file durable too: otherwise the disk would write it during the measurement.
    private func write() throws {
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        var chunk = Data()
        for variant in 0..<variants {
            for number in numbers {
                let request = try makeRequest(number, variant)
                chunk += Data(String(format: "%0\(Self.lengthDigits)d", request.count).utf8)
                chunk += request
                guard chunk.count >= Self.chunkBytes else { continue }
                try handle.write(contentsOf: chunk)
                chunk.removeAll(keepingCapacity: true)
            }
        }
        try handle.write(contentsOf: chunk)
        try handle.synchronize()
    }
}
