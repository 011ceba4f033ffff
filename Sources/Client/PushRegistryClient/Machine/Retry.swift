import Foundation

/// The time of the next attempt after a failed one.
///
/// Full jitter: a random time up to a limit that doubles, plus `Retry-After`. So a million phones that lost the
/// connection at the same moment do not return at the same moment.
struct Retry: Sendable, Hashable {
    static let firstSecondsMax: TimeInterval = 1
    static let secondsMax: TimeInterval = 3_600
    /// A longer `Retry-After` counts as this.
    static let askedSecondsMax: TimeInterval = 86_400

    private(set) var attempts: Int
    private(set) var until: Date
    /// Whether the registry sent `Retry-After`. Then nothing may shorten the wait.
    let isAsked: Bool

    /// - Parameters:
    ///   - previous: the retry of the attempt before; nil after a success.
    ///   - response: nil if there was none.
    ///   - jitter: at least 0, less than 1.
    init(after previous: Retry?, response: PushRegistryClient.Response?, at now: Date, jitter: Double) {
        attempts = (previous?.attempts ?? 0) + 1
        let asked = response?.retryAfter(at: now)
        let limit = min(Self.secondsMax, Self.firstSecondsMax * pow(2, Double(min(attempts, 32) - 1)))
        until = now + (asked ?? 0) + limit * jitter
        isAsked = asked != nil
    }

    /// Ends the wait, unless the registry sent `Retry-After`: the app came to the foreground, or the network is back.
    mutating func hurry(at now: Date) {
        if !isAsked { until = min(until, now) }
    }
}

extension PushRegistryClient.Response {
    /// The seconds of `Retry-After` (RFC 9110, 10.2.3): a number, or a date.
    func retryAfter(at now: Date) -> TimeInterval? {
        guard asksForRetry, let text = fields["retry-after"] else { return nil }
        let seconds = TimeInterval(text) ?? Self.date(text)?.timeIntervalSince(now)
        guard let seconds, seconds.isFinite else { return nil }
        return min(max(0, seconds), Retry.askedSecondsMax)
    }

    private static func date(_ text: String) -> Date? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: text)
    }
}
