import Basics
import Crypto
import Foundation
import Logging
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryAPI

@Suite("Key sets of identity providers", .timeLimit(.minutes(5)))
struct ProviderKeySetsTests {
    private let provider = Provider()
    private let app: App

    init() throws {
        var draft = AppPolicy.Draft()
        draft.jwksURL = try KeySetURL("https://login.example.com/keys")
        app = App(number: AppNumber(1), id: try AppID("mail"), policy: try AppPolicy(draft), revision: "1")
    }

    /// Lends key sets with a running fetch task.
    private func withKeySets(_ body: (ProviderKeySets) async throws -> Void) async rethrows {
        let logger = Logger(label: "keys") { _ in SwiftLogNoOpLogHandler() }
        let keySets = ProviderKeySets(provider, logger: logger) { [provider] in provider.now }
        // Cancelled at the end of this scope.
        async let _ = keySets.run()
        try await body(keySets)
    }

    /// Strangers can send thousands of such JWTs.
    @Test func unknownKeys_causeOneFetch_whenManyCallsAreConcurrent() async throws {
        try await withKeySets { keySets in
            provider.setText(Self.set("a"))
            try await withThrowingTaskGroup(of: ProviderKeySets.Outcome.self) { group in
                for _ in 0..<100 { group.addTask { [app] in await keySets.fetchMissingKey(of: app) } }
                for try await outcome in group { #expect(outcome == .fetched || outcome == .refused) }
            }
            for _ in 0..<100 { #expect(await keySets.fetchMissingKey(of: app) == .refused) }
            #expect(provider.fetches == 1)
        }
    }

    @Test func useOfOldKeys_startsTheirRefresh_withoutWaiting() async throws {
        try await withKeySets { keySets in
            provider.setText(Self.set("a"))
            _ = await keySets.fetchMissingKey(of: app)
            provider.setText(Self.set("b"))
            provider.advance(by: ProviderKeys.refreshInterval)
            #expect(keySets.current(of: app)?.keys.map(\.id) == ["a"])
            try await eventually("the keys are fetched again") {
                keySets.current(of: app)?.keys.map(\.id) == ["b"]
            }
            #expect(provider.fetches == 2)
        }
    }

    @Test(arguments: ["", "[]", "{}", #"{"keys":[]}"#, #"{"keys":{}}"#, "<html>", #"{"keys":[{"kty":"OKP"}]}"#])
    func document_isAFailure_whenItHasNoKey(text: String) async throws {
        await withKeySets { keySets in
            provider.setText(text)
            #expect(await keySets.fetchMissingKey(of: app) == .unavailable(retryAfter: ProviderKeys.pause))
        }
    }

    /// After a change of the policy's URL, the keys of the old URL are not used.
    @Test func keys_areOfTheCurrentURL() async throws {
        try await withKeySets { keySets in
            provider.setText(Self.set("a"))
            _ = await keySets.fetchMissingKey(of: app)
            var draft = app.policy.draft
            draft.jwksURL = try KeySetURL("https://login.example.com/others")
            let changed = App(number: app.number, id: app.id, policy: try AppPolicy(draft), revision: "2")
            #expect(keySets.current(of: changed)?.keys.isEmpty == true)
            provider.setText(Self.set("b"))
            #expect(await keySets.fetchMissingKey(of: changed) == .fetched)
            #expect(keySets.current(of: changed)?.keys.map(\.id) == ["b"])
            draft.jwksURL = nil
            let without = App(number: app.number, id: app.id, policy: try AppPolicy(draft), revision: "3")
            #expect(keySets.current(of: without) == nil)
            #expect(await keySets.fetchMissingKey(of: without) == .refused)
        }
    }

    @Test func appThatChangesItsURL_isFetchedAsSeldomAsAnother() async throws {
        let apps = try (0...24).map { number in
            var draft = app.policy.draft
            draft.jwksURL = try KeySetURL("https://login.example.com/keys-\(number)")
            return App(number: app.number, id: app.id, policy: try AppPolicy(draft), revision: "\(number)")
        }
        await withKeySets { keySets in
            provider.setText(Self.set("a"))
            for (number, app) in apps.dropLast().enumerated() {
                let outcome = await keySets.fetchMissingKey(of: app)
                let isFetched = number < ProviderKeySets.urlsMax
                #expect(outcome == (isFetched ? .fetched : .unavailable(retryAfter: ProviderKeys.pause)))
            }
            #expect(provider.fetches == ProviderKeySets.urlsMax)
            provider.advance(by: ProviderKeys.pause)
            #expect(await keySets.fetchMissingKey(of: apps[24]) == .fetched)
        }
    }

    // MARK: Published sets

    @Test func publishedSet_hasOnlyPublicKeysForSignatures() throws {
        let good = Self.key("a")
        let others = [
            #"{"kty":"oct","kid":"s","k":"c2VjcmV0LW9mLXRoZS1hcHAtb2YtMzItYnl0ZXMhISE"}"#,
            Self.key("p", more: #","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI""#), Self.key("a"),
            #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, "7",
        ]
        let encrypting = Self.key("e", more: #","use":"enc""#)
        let text = #"{"keys":[\#(([good, encrypting] + others).joined(separator: ","))]}"#
        let (set, ignored) = try #require(JWKS.published(Array(text.utf8)))
        #expect(set.keys.map(\.id) == ["a"])
        #expect(ignored == others.count)
        #expect(!set.text.contains("jpsQ"))
    }

    @Test func publishedSet_isRefused_whenItHasTooManyKeys() {
        for (count, isParsed) in [(JWKS.keysMax, true), (JWKS.keysMax + 1, false)] {
            let keys = (0..<count).map { Self.key("\($0)") }.joined(separator: ",")
            #expect((JWKS.published(Array(#"{"keys":[\#(keys)]}"#.utf8)) != nil) == isParsed)
        }
    }

    private static func set(_ id: String) -> String { #"{"keys":[\#(key(id))]}"# }

    private static func key(_ id: String, more: String = "") -> String {
        #"{"kty":"EC","kid":"\#(id)","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
            + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"\#(more)}"#
    }
}

/// A fake identity provider, with a clock that the test advances.
private final class Provider: KeySetFetcher {
    private struct State {
        var text: String?
        var fetches = 0
        var now = ContinuousClock.now
    }

    private let state = Locked(State())

    var fetches: Int { state.withLock { $0.fetches } }
    var now: ContinuousClock.Instant { state.withLock { $0.now } }

    /// Sets the key set; nil makes fetches fail.
    func setText(_ text: String?) { state.withLock { $0.text = text } }

    func advance(by duration: Duration) { state.withLock { $0.now += duration } }

    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
        let text = state.withLock { state in
            state.fetches += 1
            return state.text
        }
        guard let text else { throw KeySetFailure(reason: "the provider does not respond") }
        return PublishedKeySet(text: Array(text.utf8), maxAge: nil)
    }
}
