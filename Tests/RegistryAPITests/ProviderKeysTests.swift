import Basics
import Crypto
import Testing

@testable import RegistryAPI

@Suite("The keys of an identity provider are fetched only when necessary")
struct ProviderKeysTests {
    private static let key = UserTokenKeys.Key(id: "k", material: .p256(P256.Signing.PrivateKey().publicKey))
    private let start = ContinuousClock.now

    /// Keys that were fetched at `start`.
    private func fetched(maxAge: Duration? = nil) -> ProviderKeys {
        var keys = ProviderKeys()
        _ = keys.step(at: start)
        keys.fetched([Self.key], maxAge: maxAge, at: start)
        return keys
    }

    @Test func firstJWT_startsAFetch_andOthersWaitForIt() {
        var keys = ProviderKeys()
        #expect(keys.current(at: start).keys.isEmpty && keys.current(at: start).fetchedAt == nil)
        // There are no keys to refresh.
        #expect(keys.beginsRefresh(at: start) == false)
        #expect(keys.step(at: start) == .wait(beginning: true))
        #expect(keys.step(at: start) == .wait(beginning: false))
        keys.fetched([Self.key], maxAge: nil, at: start)
        #expect(keys.current(at: start).keys.map(\.id) == ["k"] && keys.current(at: start).fetchedAt == start)
    }

    @Test func unknownKey_isRefused_duringThePauseAfterAFetch_andFetchedAfterIt() {
        var keys = fetched()
        #expect(keys.step(at: start) == .refuse)
        #expect(keys.step(at: start + ProviderKeys.pause - .milliseconds(1)) == .refuse)
        #expect(keys.step(at: start + ProviderKeys.pause) == .wait(beginning: true))
        #expect(keys.step(at: start + ProviderKeys.pause) == .wait(beginning: false))
    }

    /// A 401 would sign users out, although their JWTs may be valid.
    @Test func unknownKey_isNotRefused_whileFetchesFail() {
        var keys = fetched()
        let later = start + .seconds(60)
        #expect(keys.step(at: later) == .wait(beginning: true))
        keys.fetchFailed(at: later)
        #expect(keys.failure(at: later) == ProviderKeys.pause)
        #expect(keys.step(at: later + .seconds(10)) == .giveUp(retryAfter: ProviderKeys.pause - .seconds(10)))
        #expect(keys.step(at: later + ProviderKeys.pause) == .wait(beginning: true))
        // The keys of the last successful fetch stay in use.
        #expect(keys.current(at: later).keys.count == 1)
    }

    @Test(
        arguments: [
            (nil, ProviderKeys.refreshInterval), (Duration.seconds(0), ProviderKeys.refreshIntervals.lowerBound),
            (.seconds(1_000), .seconds(1_000)), (.seconds(1_000_000), ProviderKeys.refreshIntervals.upperBound),
        ] as [(Duration?, Duration)])
    func keys_areRefreshed_whileTheyAreUsed(maxAge: Duration?, interval: Duration) {
        var keys = fetched(maxAge: maxAge)
        #expect(keys.beginsRefresh(at: start + interval - .milliseconds(1)) == false)
        #expect(keys.beginsRefresh(at: start + interval) == true)
        #expect(keys.beginsRefresh(at: start + interval) == false, "the fetch is in progress")
        #expect(keys.current(at: start + interval).keys.count == 1)
        keys.fetchFailed(at: start + interval)
        #expect(keys.beginsRefresh(at: start + interval + .seconds(1)) == false)
        #expect(keys.beginsRefresh(at: start + interval + ProviderKeys.pause) == true)
    }

    @Test func keys_areNotUsed_afterTheirLifetime() {
        var keys = fetched()
        let end = start + ProviderKeys.lifetime
        #expect(keys.remainingLife(at: start) == ProviderKeys.lifetime)
        #expect(keys.current(at: end - .milliseconds(1)).keys.count == 1)
        #expect(keys.current(at: end).keys.isEmpty && keys.current(at: end).fetchedAt == nil)
        #expect(keys.remainingLife(at: end + .seconds(1)) == .zero)
        #expect(keys.step(at: end) == .wait(beginning: true))
    }

    /// A refresh needs time to succeed.
    @Test func refresh_startsLongBeforeTheEndOfTheLifetime() {
        #expect(ProviderKeys.refreshIntervals.upperBound * 2 < ProviderKeys.lifetime)
        #expect(ProviderKeys.pause < ProviderKeys.refreshIntervals.lowerBound)
    }
}
