import PushRegistry

/// Token buckets by name: each holds up to `burst` calls and gains `rate` calls per second.
///
/// A value that takes the time as an argument. Its memory is bounded: there are two generations of buckets, and when
/// the younger is full, the older is dropped. So frequent callers stay in spite of a flood of names. A dropped bucket
/// counts as full.
struct TokenBuckets<Name: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var level: Double
        var filledAt: Duration
    }

    private let generationMax: Int
    private var young: [Name: Bucket] = [:]
    private var old: [Name: Bucket] = [:]

    /// - Parameter countMax: the largest number of buckets.
    init(countMax: Int) {
        generationMax = max(1, countMax / 2)
    }

    var count: Int { young.count + old.count }

    private func bucket(_ name: Name, _ limit: AppPolicy.RateLimit, at now: Duration) -> Bucket {
        var bucket = young[name] ?? old[name] ?? Bucket(level: Double(limit.burst), filledAt: now)
        let gained = max(0, (now - bucket.filledAt) / .seconds(1)) * limit.rate
        bucket.level = min(Double(limit.burst), bucket.level + gained)
        bucket.filledAt = max(now, bucket.filledAt)
        return bucket
    }

    /// Takes one call out of the bucket.
    ///
    /// - Parameter now: the time of a monotonic clock.
    /// - Returns: nil if the call is admitted, else the wait until the next one is.
    mutating func take(_ name: Name, limit: AppPolicy.RateLimit, at now: Duration) -> Duration? {
        var bucket = bucket(name, limit, at: now)
        defer { keep(bucket, name) }
        guard bucket.level >= 1 else { return .seconds((1 - bucket.level) / max(limit.rate, 1e-6)) }
        bucket.level -= 1
        return nil
    }

    private mutating func keep(_ bucket: Bucket, _ name: Name) {
        if young[name] == nil, young.count >= generationMax {
            old = young
            young = [:]
        }
        young[name] = bucket
    }
}
