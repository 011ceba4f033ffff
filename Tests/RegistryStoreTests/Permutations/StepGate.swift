import Foundation

/// Stops the statements of several callers, each on sessions of its own, until a scheduler lets them go one by one.
final class StepGate: @unchecked Sendable {
    /// What a caller does when nothing moves.
    enum Activity: Equatable {
        /// Its next statement is stopped here.
        case stopped(before: String)
        /// Its statement waits for a lock of another caller.
        case blocked
        case ended
    }

    private struct Session {
        let caller: Int
        var pid: Int32 = 0
        var stoppedText: String?
        var mayGo = false
        var isRunning = false
    }

    /// Longer than any statement of the tests takes.
    private static let settleTimeout: TimeInterval = 30

    private let condition = NSCondition()
    private var sessions: [Int: Session] = [:]
    private var ended: [Int: String] = [:]
    private var isOpen = true
    /// The callers that waited for a lock when nothing moved last. Only the scheduler's thread uses it.
    private var blocked: Set<Int> = []
    /// Changes with each event.
    private var version = 0

    private func locked<Value>(_ body: () throws -> Value) rethrows -> Value {
        condition.lock()
        defer { condition.unlock() }
        return try body()
    }

    private func change(_ body: () -> Void) {
        locked {
            body()
            version += 1
            condition.broadcast()
        }
    }
}

// MARK: - For the proxy

extension StepGate {
    func opened(_ session: Int, of caller: Int) {
        change { sessions[session] = Session(caller: caller) }
    }

    func started(_ session: Int, pid: Int32) {
        change { sessions[session]?.pid = pid }
    }

    func closed(_ session: Int) {
        change { sessions[session] = nil }
    }

    func completed(_ session: Int) {
        change { sessions[session]?.isRunning = false }
    }

    /// Lets a session check whether its unit has failed.
    func failed() {
        change {}
    }

    /// **Blocks** until the statement may go.
    ///
    /// - Returns: whether the scheduler waits for its end.
    func arrive(_ session: Int, _ text: String, unless hasFailed: () -> Bool) -> Bool {
        locked {
            guard !isOpen, !hasFailed() else { return false }
            sessions[session]?.stoppedText = text
            sessions[session]?.mayGo = false
            version += 1
            condition.broadcast()
            while sessions[session]?.mayGo == false, !isOpen, !hasFailed() { condition.wait() }
            sessions[session]?.stoppedText = nil
            // The unit may have failed just before the scheduler let the statement go.
            guard sessions[session]?.mayGo == true, !hasFailed() else {
                sessions[session]?.isRunning = false
                version += 1
                condition.broadcast()
                return false
            }
            return true
        }
    }
}

// MARK: - For the scheduler

extension StepGate {
    /// From now on, every statement stops.
    func close() {
        change {
            ended = [:]
            isOpen = false
        }
    }

    func open() {
        change { isOpen = true }
    }

    func end(_ caller: Int, with outcome: String) {
        change { ended[caller] = outcome }
    }

    /// What the callers ended with.
    var outcomes: [Int: String] { locked { ended } }

    /// Lets a caller's next statement go.
    func letGo(_ caller: Int) {
        change {
            for (id, session) in sessions where session.caller == caller && session.stoppedText != nil {
                sessions[id]?.stoppedText = nil
                sessions[id]?.mayGo = true
                sessions[id]?.isRunning = true
                return
            }
        }
    }

    /// **Blocks** until each caller is stopped, blocked or at its end.
    ///
    /// - Parameter blockers: returns the server processes for whose locks a process waits.
    func settle(_ callers: Range<Int>, blockers: (Int32) throws -> [Int32]) throws -> [Activity] {
        let deadline = Date(timeIntervalSinceNow: Self.settleTimeout)
        var isSlow = false
        while Date() < deadline {
            let (seen, running, activities) = locked { () -> (Int, [Int: Int32], [Activity]?) in
                var running: [Int: Int32] = [:]
                for session in sessions.values where session.isRunning { running[session.caller] = session.pid }
                let activities = callers.map { activity(of: $0, isRunning: running[$0] != nil) }
                return (version, running, activities.contains(nil) ? nil : activities.map { $0! })
            }
            if let activities {
                // Most statements end before it is worth asking why they do not.
                if running.isEmpty || isSlow || blocked.isSuperset(of: running.keys) {
                    let areBlocked = try areBlocked(running.values, blockers)
                    if areBlocked, locked({ version == seen }) {
                        blocked = Set(running.keys)
                        return activities
                    }
                }
            }
            isSlow = locked { version == seen && !condition.wait(until: Date(timeIntervalSinceNow: 0.001)) }
        }
        throw Unsettled(description: locked { "\(sessions), ended \(ended)" })
    }

    private func areBlocked(
        _ running: some Collection<Int32>, _ blockers: (Int32) throws -> [Int32]
    ) rethrows -> Bool {
        guard !running.isEmpty else { return true }
        let pids = locked { Set(sessions.values.map(\.pid)) }
        return try running.allSatisfy { pid in
            let others = try blockers(pid).filter { $0 != pid }
            return !pids.isDisjoint(with: others)
        }
    }

    /// **Blocks** until something happens.
    func waitForChange(atMost seconds: TimeInterval) {
        locked { _ = condition.wait(until: Date(timeIntervalSinceNow: seconds)) }
    }

    /// Nil while the caller's own code runs.
    private func activity(of caller: Int, isRunning: Bool) -> Activity? {
        if isRunning { return .blocked }
        if let text = sessions.values.first(where: { $0.caller == caller && $0.stoppedText != nil })?.stoppedText {
            return .stopped(before: text)
        }
        return ended[caller] == nil ? nil : .ended
    }

    struct Unsettled: Error, CustomStringConvertible {
        let description: String
    }
}
