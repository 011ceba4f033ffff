import PostgresClient
import PushRegistry

/// What the rules made of one call's feedback, ready to be written.
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

    /// Decides what feedback comes to on these rows.
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
