import PushRegistry

@testable import RegistryStore

/// A provider that reports many tokens as dead, and the decisions about it.
extension TestStores {
    func app(breakingAbove count: Int64, share: Double) throws -> App {
        var draft = AppPolicy.Draft()
        draft.feedbackBreaker = .limits(FeedbackBreaker(count: count, share: share))
        return App(number: app.number, id: app.id, policy: try AppPolicy(draft))
    }

    /// Reports the numbers below `reported`, by several senders at once.
    ///
    /// - Returns: how many verdicts were believed, and how many held.
    func outage(
        of reported: Int, by senders: Int, inCallsOf size: Int,
        _ report: @escaping @Sendable (ArraySlice<Int>) async throws -> FeedbackCounts
    ) async throws -> [Int] {
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for sender in 0..<senders {
                group.addTask {
                    let own = (0..<reported).filter { $0 % senders == sender }
                    var sums = [0, 0]
                    for start in stride(from: 0, to: own.count, by: size) {
                        let counts = try await report(own[start..<min(start + size, own.count)])
                        sums = [sums[0] + counts[.unregistered], sums[1] + counts[.held]]
                    }
                    return sums
                }
            }
            return try await group.reduce(into: [0, 0]) { sums, own in
                for index in 0...1 { sums[index] += own[index] }
            }
        }
    }

    func repair(
        _ decision: FeedbackRepair.Decision, of provider: Provider = .apns, isDryRun: Bool = false
    ) async throws -> Int {
        try await feedback.repair(
            FeedbackRepair(of: app.number, provider: provider, decision, isDryRun: isDryRun, actor: "admin:test"))
    }

    /// As `GET /readyz` names them.
    func openBreakers() async throws -> [String] {
        let breakers = OpenBreakers()
        try await breakers.refresh(postgres)
        return breakers.names(of: DirectorySnapshot(version: 1, apps: [app], keys: []))
    }
}
