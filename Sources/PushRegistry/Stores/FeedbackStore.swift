/// Where providers' feedback is applied.
public protocol FeedbackStore: Sendable {
    /// Applies all of it or, where it throws, nothing.
    ///
    /// - Throws: `StoreError`.
    func apply(_ feedback: Feedback) async throws -> FeedbackCounts
}
