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
