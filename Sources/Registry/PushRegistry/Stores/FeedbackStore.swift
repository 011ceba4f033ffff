/// Applies the feedback of providers.
public protocol FeedbackStore: Sendable {
    /// Applies all items, or none if it throws.
    ///
    /// - Throws: `StoreError`.
    func apply(_ feedback: Feedback) async throws -> FeedbackCounts

    /// Carries out an administrator's decision, with an entry of the audit if it changes something. What is done stays
    /// done if it throws; a repeated call does the rest.
    ///
    /// - Returns: how many installations and typed tokens it has changed; of a dry run, would change.
    /// - Throws: `StoreError`.
    func repair(_ repair: FeedbackRepair) async throws -> Int
}
