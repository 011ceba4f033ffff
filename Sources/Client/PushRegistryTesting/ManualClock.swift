import Foundation
import PushRegistryClient

/// A clock that only the test advances. No task waits for it in real time.
public final class ManualClock: PushRegistryClient.Clock {
    private struct Sleeper {
        let until: Date
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Date
        var sleepers: [UUID: Sleeper] = [:]
        /// Sleepers that were cancelled before they slept.
        var cancelled: Set<UUID> = []
    }

    private let state: LockedState<State>

    public init(now: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        state = LockedState(State(now: now))
    }

    public var now: Date { state.withLock { $0.now } }

    public func sleep(until date: Date) async throws {
        let id = UUID()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let ended: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if date <= state.now { return .success(()) }
                    state.sleepers[id] = Sleeper(until: date, continuation: continuation)
                    return nil
                }
                if let ended { continuation.resume(with: ended) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: id)
                if sleeper == nil { state.cancelled.insert(id) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Advances the time, and wakes the tasks whose time has come.
    public func advance(by seconds: TimeInterval) {
        let due = state.withLock { state in
            state.now += seconds
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.values
        }
        for sleeper in due { sleeper.continuation.resume() }
    }
}
