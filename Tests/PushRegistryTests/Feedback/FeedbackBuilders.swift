import PushRegistry

/// The present time of these tests.
let noon = Timestamp("2026-11-21T12:00:00Z")!

extension Installation {
    /// An active installation, last seen three days before noon, long enough for a verdict to be conclusive.
    static func make(
        _ installID: String = "phone", token: UInt8? = 1, provider: Provider = .apns,
        state: InstallationState = .active, generation: Int64 = 10, registrationGeneration: Int64? = nil,
        isProbablyReplaced: Bool = false, lastSeenAt: Timestamp = noon.preceding(by: .days(3))
    ) throws -> Installation {
        Installation(
            key: .make(installID), provider: provider, tokenSHA256: token.map { [$0] }, keys: nil, owner: nil,
            state: state, generation: generation, registrationGeneration: registrationGeneration ?? generation,
            epoch: 1, probablyReplacedBy: isProbablyReplaced ? .make("newer") : nil, createdAt: lastSeenAt,
            registeredAt: lastSeenAt, lastSeenAt: lastSeenAt, stateChangedAt: lastSeenAt, snapshotDigest: [],
            fingerprint: nil)
    }
}

extension FeedbackItem {
    /// By default: APNs reports token 1 as dead.
    static func make(
        _ reason: String = "Unregistered", token: UInt8? = 1, spelling: Token? = nil, installID: String? = nil,
        provider: Provider? = .apns, at: Timestamp? = nil, generation: Int64? = nil, kind: TokenKind? = nil,
        name: String? = nil
    ) throws -> FeedbackItem {
        let addresses = token.map { token in
            (provider.map { [$0] } ?? Provider.allCases).map {
                TokenAddress(app: AppNumber(1), provider: $0, sha256: [token])
            }
        }
        return FeedbackItem(
            installID: try installID.map { try InstallID($0) }, provider: provider, addresses: addresses ?? [],
            spelling: spelling, reason: reason, at: at, generation: generation, kind: kind, name: name,
            namesProvider: provider != nil)
    }
}

extension LockedFeedback {
    /// Feedback that arrived at noon.
    static func make(_ installations: [Installation], tokens: LockedTokens? = nil) throws -> LockedFeedback {
        let app = App(number: AppNumber(1), id: try AppID("com.example.mail"), policy: .standard)
        // An item that names an installation makes `init` index the installations by id.
        let item = try FeedbackItem.make(installID: "any")
        return LockedFeedback(
            Feedback(of: app, items: [item], actor: "sender:1"), on: installations, tokens: tokens, receivedAt: noon,
            now: noon)
    }

    /// The outcome of one item on one installation.
    static func outcome(of item: FeedbackItem, on installation: Installation) throws -> FeedbackOutcome {
        var locked = try make([installation])
        return locked.apply(item)
    }

    var events: [TokenEvent] { changes.flatMap(\.events) }
    /// Those of which more than typed tokens changes.
    var changed: [Installation] { changes.filter { !$0.events.isEmpty }.map(\.after) }
}
