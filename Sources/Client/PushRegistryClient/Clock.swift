import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension PushRegistryClient {
    /// The time of day, and waits until a time of day: deadlines outlive the process.
    public protocol Clock: Sendable {
        var now: Date { get }

        /// - Throws: `CancellationError`.
        func sleep(until date: Date) async throws
    }

    /// Sends requests until a deadline. Later, and to a request that has no response by then, it throws.
    package struct DeadlineTransport: Transport {
        private let next: any Transport
        private let deadline: Date
        private let clock: any Clock

        package init(_ next: any Transport, until deadline: Date, by clock: any Clock) {
            self.next = next
            self.deadline = deadline
            self.clock = clock
        }

        package func send(_ request: Request) async throws -> Response {
            let response = await clock.result(until: deadline) { [next] in try await next.send(request) }
            guard let response else { throw URLError(.timedOut) }
            return response
        }
    }

    /// The system's clock.
    public struct SystemClock: Clock {
        public init() {}

        public var now: Date { Date() }

        public func sleep(until date: Date) async throws {
            // Returns after an hour at most, and the caller waits again: the time of day may be set meanwhile.
            try await Task.sleep(for: .seconds(min(max(0, date.timeIntervalSinceNow), 3_600)))
        }
    }
}

extension PushRegistryClient.Clock {
    /// Nil if the work fails, or is not done at the deadline. Work that ignores its cancellation goes on, and its
    /// result is dropped.
    package func result<Value: Sendable>(
        until deadline: Date, of work: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        let (results, result) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
        // Tasks of a group would have to end before the result is returned.
        let worker = Task { result.yield(try? await work()) }
        let timer = Task {
            try? await sleep(until: deadline)
            result.yield(nil)
        }
        defer {
            worker.cancel()
            timer.cancel()
        }
        return await results.first { _ in true } ?? nil
    }
}
