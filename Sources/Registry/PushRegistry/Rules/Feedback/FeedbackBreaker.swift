/// R9: the limits from which on dead verdicts are not believed. A provider's fault may report every token as dead; the
/// registry then stops to unregister installations until an administrator has looked.
public struct FeedbackBreaker: Hashable, Sendable {
    public static let standard = FeedbackBreaker(count: 1_000, share: 0.05)
    public static let countRange: ClosedRange<Int64> = 0...1_000_000_000

    /// Dead verdicts of an hour about an app's tokens of one provider. More of them may open the breaker.
    public var count: Int64
    /// The same as a share of the provider's active installations, above 0 to 1. Both must be exceeded.
    public var share: Double

    public init(count: Int64, share: Double) {
        (self.count, self.share) = (count, share)
    }
}

/// The dead verdicts of an hour about an app's tokens of one provider and kind. The hour begins with its first one.
/// Every verdict that removes a typed token is dead.
///
/// A value: a store reads it with the installations, `LockedFeedback` counts, and the store writes it in the
/// transaction of the verdicts, on condition that its decisions still hold (`deadMax`).
public struct FeedbackHour: Hashable, Sendable {
    public struct Key: Hashable, Sendable {
        public let provider: Provider
        /// Empty: the token of the installation itself.
        public let kind: String

        public init(_ provider: Provider, kind: String = "") {
            (self.provider, self.kind) = (provider, kind)
        }
    }

    /// As a store keeps it.
    public struct Stored: Hashable, Sendable {
        public let began: Timestamp
        public let dead: Int64
        /// The active installations (of a kind: the typed tokens that are handed out), and those that were dead in the
        /// hour, when they were last counted.
        public let active: Int64?
        public let countedAt: Timestamp?
        /// When a verdict was held last, in this hour or earlier.
        public let lastHeldAt: Timestamp?

        public init(began: Timestamp, dead: Int64, active: Int64?, countedAt: Timestamp?, lastHeldAt: Timestamp?) {
            (self.began, self.dead, self.active) = (began, dead, active)
            (self.countedAt, self.lastHeldAt) = (countedAt, lastHeldAt)
        }
    }

    public static let length = ISO8601Duration.hours(1)
    /// How long a count of the active installations lasts: counting takes milliseconds.
    static let countLasts = ISO8601Duration(seconds: 60)

    /// Nil: there is no row.
    public let stored: Stored?
    public let began: Timestamp
    public private(set) var dead: Int64
    public let active: Int64?
    public let countedAt: Timestamp?
    /// Verdicts that were held by this call.
    public private(set) var held: Int64 = 0
    /// Whether further verdicts of the hour are held.
    public private(set) var isOpen: Bool
    /// Whether a decision needs the present number of active installations (`activeNow`): the others are no decisions.
    public private(set) var needsCount = false

    private let wasOpen: Bool
    private let deadBefore: Int64
    private let now: Timestamp

    /// - Parameter activeNow: the provider's active installations, or its tokens of the kind that are handed out; nil
    ///   if they were not counted.
    public init(_ stored: Stored?, activeNow: Int64? = nil, at now: Timestamp) {
        (self.stored, self.now) = (stored, now)
        let present = stored.flatMap { now < $0.began.advanced(by: Self.length) ? $0 : nil }
        began = present?.began ?? now
        dead = present?.dead ?? 0
        deadBefore = dead
        active = activeNow.map { $0 + (present?.dead ?? 0) } ?? present?.active
        countedAt = activeNow == nil ? present?.countedAt : now
        isOpen = present?.lastHeldAt.map { $0 >= present?.began ?? now } ?? false
        wasOpen = isOpen
    }

    public var added: Int64 { dead - deadBefore }
    /// What the row has of an hour that is over.
    public var forgotten: Int64 { stored?.began == began ? 0 : stored?.dead ?? 0 }
    /// When a verdict was held; nil if none was.
    public var heldAt: Timestamp? { held > 0 ? now : nil }
    /// Whether this call has opened the breaker.
    public var hasOpened: Bool { isOpen && !wasOpen }

    enum Judgement {
        case believed, held
        /// Not believed, and there is nothing to hold.
        case ignored
    }

    /// Judges one more dead verdict.
    ///
    /// - Parameter isOnActive: whether its installation is active, and a typed token not held. Pushes to others have
    ///   ended already.
    mutating func judge(by breaker: FeedbackBreaker, isOnActive: Bool) -> Judgement {
        let exceeds = isOpen || exceeds(dead + 1, breaker)
        guard isOnActive || !exceeds else { return .ignored }
        dead += 1
        guard exceeds else { return .believed }
        isOpen = true
        held += 1
        return .held
    }

    private mutating func exceeds(_ dead: Int64, _ breaker: FeedbackBreaker) -> Bool {
        guard dead > breaker.count else { return false }
        // A quotient is rounded as the share is: 1 of 20 is 0.05.
        let exceedsShare = active.map { Double(dead) / Double(max($0, 0)) > breaker.share } ?? false
        // An older count lasts a while for a verdict that is believed. It may be too low for one that is not.
        let isCounted =
            exceedsShare
            ? countedAt == now : countedAt.map { now < $0.advanced(by: Self.countLasts) } ?? false
        if !isCounted { needsCount = true }
        return exceedsShare && isCounted
    }

    /// Above so many active ones none of these verdicts is held, and as many again would not be: a store need not count
    /// more of them.
    public func activeMax(by breaker: FeedbackBreaker) -> Int64 {
        Int64(exactly: (2 * Double(dead) / breaker.share).rounded(.up)) ?? .max
    }

    /// The highest count of the hour, with verdicts of other calls at the same time, by which this call has decided
    /// rightly.
    public func deadMax(of breaker: FeedbackBreaker) -> Int64 {
        if wasOpen { return .max }
        guard !isOpen, let active else { return max(dead, isOpen ? 0 : breaker.count) }
        // One below the share: its product is rounded.
        return max(dead, breaker.count, Int64(breaker.share * Double(active)) - 1)
    }
}
