/// How large the bodies may be whose size depends on the app; more is a 413.
public struct BodyLimits: Sendable {
    /// A token of 4,096 characters, 32 languages and every string at its limit, all escaped, fit.
    public var registrationBytesMax = 64 * 1024
    public var feedbackBytesMax = 8 * 1024 * 1024

    public init() {}
}
