import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("A bucket admits a burst, then calls at its rate")
struct TokenBucketsTests {
    private let limit = AppPolicy.RateLimit(rate: 2, burst: 3)

    @Test func burst_isAdmitted_thenCallsAtTheRate() {
        var buckets = TokenBuckets<String>(countMax: 16)
        for _ in 1...3 { #expect(buckets.take("a", limit: limit, at: .zero) == nil) }
        #expect(buckets.take("a", limit: limit, at: .zero) == .milliseconds(500))
        #expect(buckets.take("a", limit: limit, at: .milliseconds(499)) != nil)
        #expect(buckets.take("a", limit: limit, at: .milliseconds(501)) == nil)
        #expect(buckets.take("a", limit: limit, at: .milliseconds(502)) != nil)
    }

    @Test func names_haveSeparateBuckets() {
        var buckets = TokenBuckets<String>(countMax: 16)
        for _ in 1...4 { _ = buckets.take("a", limit: limit, at: .zero) }
        #expect(buckets.take("b", limit: limit, at: .zero) == nil)
    }

    @Test func bucket_neverHoldsMoreThanItsBurst() {
        var buckets = TokenBuckets<String>(countMax: 16)
        _ = buckets.take("a", limit: limit, at: .zero)
        for _ in 1...3 { #expect(buckets.take("a", limit: limit, at: .seconds(3_600)) == nil) }
        #expect(buckets.take("a", limit: limit, at: .seconds(3_600)) != nil)
    }

    @Test func table_isBounded_andKeepsFrequentCallers() {
        var buckets = TokenBuckets<Int>(countMax: 100)
        for _ in 1...3 { _ = buckets.take(-1, limit: limit, at: .zero) }
        for name in 0..<10_000 {
            _ = buckets.take(name, limit: limit, at: .zero)
            #expect(buckets.take(-1, limit: limit, at: .zero) != nil)
            #expect(buckets.count <= 100)
        }
    }
}
