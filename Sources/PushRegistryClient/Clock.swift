import Foundation

extension PushRegistryClient {
    /// The time of day, and waits until a time of day: deadlines outlive the process.
    public protocol Clock: Sendable {
        var now: Date { get }

        /// - Throws: `CancellationError`.
        func sleep(until date: Date) async throws
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
