/// The largest bodies of calls whose size depends on the app. A larger body gets a 413.
public struct BodyLimits: Sendable {
    /// Fits a token of 4,096 characters, 32 languages and every string at its limit, all escaped.
    public var registrationBytesMax = 64 * 1024
    public var feedbackBytesMax = 8 * 1024 * 1024

    public init() {}
}
