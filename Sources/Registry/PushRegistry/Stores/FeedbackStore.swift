/// Applies the feedback of providers.
public protocol FeedbackStore: Sendable {
    /// Applies all items, or none if it throws.
    ///
    /// - Throws: `StoreError`.
    func apply(_ feedback: Feedback) async throws -> FeedbackCounts
}
