import Foundation

extension PushRegistryClient {
    /// The time of day, which outlives the process, and waits for it.
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
            // The caller divides a longer wait: somebody may set the time of day meanwhile.
            try await Task.sleep(for: .seconds(min(max(0, date.timeIntervalSinceNow), 3_600)))
        }
    }
}
