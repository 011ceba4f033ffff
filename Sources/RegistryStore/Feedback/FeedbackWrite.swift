import PostgresClient
import PushRegistry

/// The changes that the rules derive from one call's feedback, ready to be written.
struct FeedbackWrite: Sendable {
    /// A step that several installations make. They share a statement.
    struct SharedStep: Sendable {
        let step: LockedFeedback.Step
        var installIDs: [InstallID] = []
        /// The row's revision before the step.
        var revisions: [Int64] = []
        /// Of the tokens that are given up; empty if the step leaves the token.
        var digests: [[UInt8]] = []
    }

    let counts: FeedbackCounts
    /// In the order in which they are written: an installation's second step comes after its first.
    let steps: [SharedStep]
    /// Those that give up their tokens.
    let retired: [LockedFeedback.Change]

    /// Derives the changes of feedback for these rows.
    init(_ feedback: Feedback, on rows: PostgresResult, receivedAt: Timestamp) throws {
        let found = try rows.map { try FoundInstallation($0) }
        var locked = LockedFeedback(feedback, on: found.map(\.judged), receivedAt: receivedAt)
        var counts = FeedbackCounts()
        for item in feedback.items { counts.count(locked.apply(item)) }
        let changes = locked.changes
        self.counts = counts
        steps = Self.share(changes, found.map(\.revision))
        retired = changes.filter { $0.after.state == .superseded }
    }

    /// The rows that the same transaction writes in addition to the installations.
    ///
    /// - Parameter results: of the steps' statements, in their order.
    /// - Throws: `LostRace` if an installation has changed since it was read.
    func records(of results: [PostgresResult], by actor: String, in app: AppNumber) throws -> StateChangeRecords {
        var records = StateChangeRecords(in: app, by: actor)
        for (shared, rows) in zip(steps, results) {
            guard rows.count == shared.installIDs.count else { throw LostRace() }
            let step = shared.step
            for row in rows {
                let change = try StateChange(row)
                records.add(change, step.to.eventKind, step.reason, leaving: step.from == .active ? .active : .none)
                if step.to == .superseded { records.release(change) }
            }
        }
        return records
    }

    private static func share(_ changes: [LockedFeedback.Change], _ revisions: [Int64]) -> [SharedStep] {
        let rounds = changes.map(\.steps.count).max() ?? 0
        return (0..<rounds).flatMap { round in
            var shared: [LockedFeedback.Step: SharedStep] = [:]
            for change in changes where round < change.steps.count {
                let step = change.steps[round]
                shared[step, default: SharedStep(step: step)]
                    .add(change, revision: revisions[change.index] + Int64(round))
            }
            return Array(shared.values)
        }
    }
}

extension FeedbackWrite.SharedStep {
    fileprivate mutating func add(_ change: LockedFeedback.Change, revision: Int64) {
        installIDs.append(change.before.installID)
        revisions.append(revision)
        if step.to == .superseded, let digest = change.before.tokenSHA256 { digests.append(digest) }
    }
}

extension InstallationState {
    /// The event of a verdict is named after the state that it leads to.
    fileprivate var eventKind: EventKind {
        switch self {
        case .superseded: .superseded
        case .suspect: .suspect
        default: .unregistered
        }
    }
}
