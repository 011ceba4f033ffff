/// A campaign, or one transactional push.
public struct Message: Hashable, Sendable {
    public let number: MessageNumber
    public let name: MessageName
    public let content: MessageContent
    public let createdAt: Timestamp
    /// The segments in the filters of this message's exports and lists, at most `segmentsMax`, in alphabetical order.
    public let segments: [SegmentName]
    public static let segmentsMax = 100

    public init(
        number: MessageNumber, name: MessageName, content: MessageContent, createdAt: Timestamp,
        segments: [SegmentName] = []
    ) {
        (self.number, self.name, self.content, self.createdAt) = (number, name, content, createdAt)
        self.segments = segments
    }

    /// From then on no receipt is issued, and none counts.
    public var expiresAt: Timestamp { createdAt.advanced(by: content.expiresIn) }

    public func isExpired(at time: Timestamp) -> Bool { time >= expiresAt }
}

/// The members of a message that a caller sets.
public struct MessageContent: Hashable, Sendable {
    public static let labelsMax = 32
    public static let labelScalarsMax = 128
    public static let standardExpiry = ISO8601Duration.days(7)

    public let title: String?
    /// The labels, in the order of the request.
    public let labels: [Label]
    public let expiresIn: ISO8601Duration
    /// Whether the registry stores the installations for which the message is handed out.
    public let isRecorded: Bool

    public struct Label: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            (self.name, self.value) = (name, value)
        }
    }

    public init(
        title: String? = nil, labels: [Label] = [], expiresIn: ISO8601Duration = standardExpiry,
        isRecorded: Bool = false
    ) {
        (self.title, self.labels, self.expiresIn, self.isRecorded) = (title, labels, expiresIn, isRecorded)
    }
}

/// The name of a message: 1 to 128 characters of `A-Z a-z 0-9 . _ -`, neither `.` nor `..`, case-sensitive.
public struct MessageName: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    /// - Throws: `InvalidValue` with the code `invalid-message-name`.
    public init(_ text: String) throws(InvalidValue) {
        guard ASCII.isName(text, charactersMax: 128) else {
            throw InvalidValue(
                code: "invalid-message-name",
                detail: "A message's name is 1 to 128 characters of A-Z a-z 0-9 . _ - and neither . nor ..")
        }
        rawValue = text
    }

    public var description: String { rawValue }
}

/// The store's number of a message: the hundredth of a second since 1970 in which it was created, or the next free one
/// of its app. A number is never used again, not even after a dump was restored.
public struct MessageNumber: Hashable, Comparable, Sendable {
    /// The largest number that fits the five bytes in a receipt: in the year 2318.
    public static let rawValueMax: Int64 = (1 << 40) - 1

    public let rawValue: Int64

    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// The first number for a message that is created at this time.
    public init(createdAt time: Timestamp) {
        rawValue = time.microseconds / 10_000
    }

    /// When the message was created, to a hundredth of a second. It may be later than the creation if the app creates
    /// more than a hundred messages a second.
    public var time: Timestamp { Timestamp(microseconds: rawValue * 10_000) }

    public static func < (left: MessageNumber, right: MessageNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The buckets of a message's timeline: whole multiples of the interval since 1970 in UTC, from the message's creation
/// to its expiry, or to now if that is earlier.
public struct TimelineBuckets: Hashable, Sendable {
    public static let interval = ISO8601Duration(seconds: 60)...ISO8601Duration.days(1)
    public static let countMax = 1_000

    public let interval: ISO8601Duration
    /// The beginning of the first bucket.
    public let start: Timestamp
    public let count: Int

    /// - Throws: `InvalidValue` with the code `out-of-range`: the interval is not whole minutes up to a day, or there
    ///   are too many buckets.
    public init(of message: Message, every interval: ISO8601Duration, now: Timestamp) throws(InvalidValue) {
        guard Self.interval.contains(interval), interval.seconds % 60 == 0 else {
            throw InvalidValue(code: "out-of-range", detail: "This must be whole minutes, from PT1M to P1D.")
        }
        self.interval = interval
        let width = interval.seconds * 1_000_000
        let first = message.createdAt.microseconds / width
        let end = max(min(now, message.expiresAt), message.createdAt)
        let last = (end.microseconds - 1) / width
        start = Timestamp(microseconds: first * width)
        guard last - first < Int64(Self.countMax) else {
            throw InvalidValue(
                code: "out-of-range", detail: "This would be more than \(Self.countMax) buckets. Use a longer interval."
            )
        }
        count = Int(max(first, last) - first) + 1
    }

    public func time(of bucket: Int) -> Timestamp {
        Timestamp(microseconds: start.microseconds + Int64(bucket) * interval.seconds * 1_000_000)
    }

    /// The index of a time's bucket; the first one for earlier times, the last one for later times.
    public func bucket(of time: Timestamp) -> Int {
        let index = (time.microseconds - start.microseconds) / (interval.seconds * 1_000_000)
        return Int(min(max(index, 0), Int64(count - 1)))
    }
}
