import Testing

@testable import PushRegistry

@Suite("A verdict on a typed token removes it alone (R9)")
struct TypedVerdictTests {
    private let received = noon.preceding(by: .days(2))

    private func locked(
        _ tokens: [TypedToken], on installID: String = "phone", _ installations: [Installation]? = nil
    ) throws -> LockedFeedback {
        try .make(
            try installations ?? [.make()],
            tokens: LockedTokens(tokens.map { (InstallationKey.make(installID), $0) }, now: noon))
    }

    @Test(arguments: ["Unregistered", "ExpiredToken", "BadDeviceToken"])
    func token_isRemoved_andTheInstallationStays(reason: String) throws {
        for kind in [TokenKind.voip, nil] {
            var feedback = try locked([.make(.voip, sha256: 7), .make(.widget, sha256: 8)])
            #expect(feedback.apply(try .make(reason, token: 7, kind: kind)) == .unregistered)
            #expect(feedback.apply(try .make(reason, token: 7, kind: kind)) == .unknown)
            #expect(feedback.changed.isEmpty && feedback.events.isEmpty)
            let changes = try #require(feedback.tokens?.changes)
            #expect(changes.map(\.removed) == [[.make(.voip)]] && changes.allSatisfy(\.written.isEmpty))
            #expect(feedback.tokens?.disturbed == [.make("phone")] && feedback.removed == [.voip: 1])
        }
    }

    @Test func tokenOfAnotherTopic_isIgnored() throws {
        var feedback = try locked([.make(.voip, sha256: 7)])
        #expect(feedback.apply(try .make("DeviceTokenNotForTopic", token: 7)) == .ignored)
        #expect(feedback.apply(try .make("TooManyRequests", token: 7, kind: .voip)) == .ignored)
        #expect(feedback.tokens?.changes.isEmpty == true)
        #expect(feedback.counts.ignoredReasons.map(\.reason) == ["TooManyRequests"])
    }

    @Test func text_meansTheMainToken_whenItIsBoth() throws {
        var feedback = try locked([.make(.voip, sha256: 1)])
        #expect(feedback.apply(try .make(token: 1)) == .unregistered)
        #expect(feedback.changed.map(\.state) == [.unregistered])
        // The set ends with the installation's main token.
        #expect(feedback.apply(try .make(token: 1, kind: .voip)) == .unknown)
        var typed = try locked([.make(.voip, sha256: 1)])
        #expect(typed.apply(try .make(token: 1, kind: .voip)) == .unregistered && typed.changed.isEmpty)
    }

    @Test func token_isRemovedUnderAllItsNames() throws {
        var feedback = try locked([
            .make(.liveActivityStart, "a", sha256: 7), .make(.liveActivityStart, "b", sha256: 7),
            .make(.liveActivityStart, "c", sha256: 8), .make(.widget, sha256: 7),
        ])
        #expect(feedback.apply(try .make(token: 7, kind: .liveActivityStart)) == .unregistered)
        #expect(feedback.removed == [.liveActivityStart: 2])
        #expect(feedback.counts[.unregistered] == 1)
    }

    @Test func installation_meansAllTokensOfTheKind_orThatOfTheName() throws {
        let tokens: [TypedToken] = try [
            .make(.liveActivity, "a", sha256: 7), .make(.liveActivity, "b", sha256: 8), .make(.voip, sha256: 9),
        ]
        for (name, count) in [(nil, 2), ("b", 1)] {
            var feedback = try locked(tokens)
            let item = try FeedbackItem.make(
                token: nil, installID: "phone", provider: nil, kind: .liveActivity, name: name)
            #expect(feedback.apply(item) == .unregistered && feedback.removed == [.liveActivity: count])
        }
        var feedback = try locked(tokens)
        #expect(
            feedback.apply(try .make(token: nil, installID: "phone", provider: nil, kind: .widget)) == .unknown)
        #expect(
            feedback.apply(try .make(token: nil, installID: "nobody", provider: nil, kind: .voip)) == .unknown)
    }

    @Test func feedback_isOutdated_whenTokenAndInstallationDisagree() throws {
        var feedback = try locked([.make(.voip, sha256: 7)], [.make("phone"), .make("tablet", token: 2)])
        #expect(feedback.apply(try .make(token: 7, installID: "tablet", kind: .voip)) == .outdated)
        #expect(feedback.apply(try .make(token: 9, installID: "phone", kind: .voip)) == .outdated)
        #expect(feedback.apply(try .make(token: 7, installID: "tablet")) == .outdated)
        #expect(feedback.apply(try .make(token: 7, installID: "phone")) == .unregistered)
    }

    @Test func evidence_isOutdated_upToTheReceiptAndTheLastRegistration() throws {
        let late = try Installation.make(lastSeenAt: noon.preceding(by: .days(1)))
        for (installation, at) in try [
            (.make(), received), (late, received.advanced(by: .hours(1))), (late, late.lastSeenAt),
        ] as [(Installation, Timestamp)] {
            var feedback = try locked([.make(.voip, sha256: 7)], [installation])
            #expect(feedback.apply(try .make(token: 7, at: at)) == .outdated)
            #expect(feedback.apply(try .make(token: 7, at: noon.preceding(by: .hours(1)))) == .unregistered)
        }
    }

    @Test(arguments: [(Int64(9), FeedbackOutcome.outdated), (10, .unregistered), (12, .unregistered), (13, .outdated)])
    func generation_countsAsForTheMainToken(generation: Int64, outcome: FeedbackOutcome) throws {
        var feedback = try locked(
            [.make(.voip, sha256: 7)], [.make(generation: 12, registrationGeneration: 10)])
        #expect(feedback.apply(try .make(token: 7, generation: generation, kind: .voip)) == outcome)
    }

    @Test func token_isUnknown_whenItHasExpired_orIsOfTheOtherEnvironment() throws {
        var feedback = try locked([
            .make(.voip, sha256: 7, expiresAt: noon), .make(.widget, sha256: 8, provider: .apnsSandbox),
        ])
        #expect(feedback.apply(try .make(token: 7, kind: .voip)) == .unknown)
        #expect(feedback.apply(try .make(token: 8, kind: .widget)) == .unknown)
        #expect(feedback.apply(try .make(token: 8, provider: nil, kind: .widget)) == .unregistered)
    }

    /// Only what is no main token is looked for, so calls about main tokens read nothing else.
    @Test func typedTokens_areWanted_onlyForOtherTexts() throws {
        var feedback = try LockedFeedback.make([.make(), .make("other", token: 2, provider: .fcm)])
        for item: FeedbackItem in try [
            .make(), .make("UNREGISTERED", token: 2, provider: .fcm), .make("UNREGISTERED", token: 9, provider: .fcm),
            .make("TooManyRequests", token: 9), .make(token: nil, installID: "phone"),
        ] {
            feedback.apply(item)
        }
        #expect(feedback.wanted.isEmpty)
        feedback.apply(try .make(token: 9))
        #expect(feedback.wanted.addresses.count == TokenKind.allCases.count && feedback.wanted.installIDs.isEmpty)
        feedback.apply(try .make(token: nil, installID: "phone", kind: .voip))
        #expect(feedback.wanted.installIDs.map(\.rawValue) == ["phone"])
    }
}

@Suite("A typed token is reachable with its installation, and by its kind with the user's permission")
struct TypedReachabilityTests {
    @Test(arguments: TokenKind.allCases) func authorization_matters_forLiveActivitiesOnly(kind: TokenKind) {
        var settings = NotificationSettings()
        settings.authorizationStatus = .denied
        let denied = Reachability(state: .active, sessionExpiresAt: nil, settings: settings, provider: .apns)
        let isLiveActivity = kind == .liveActivity || kind == .liveActivityStart
        #expect(denied.obstacles(at: noon, to: kind) == (isLiveActivity ? [.authorization(.denied)] : []))
        let gone = Reachability(state: .suspect, sessionExpiresAt: noon, settings: settings, provider: .apns)
        #expect(gone.obstacles(at: noon, to: kind).prefix(2) == [.state(.suspect), .sessionExpired])
    }
}

extension TypedTokenKey {
    static func make(_ kind: TokenKind, _ name: String = "") -> TypedTokenKey {
        TypedTokenKey(storedKind: kind, name: name)
    }
}

extension TypedToken {
    /// Received two days before noon.
    fileprivate static func make(
        _ kind: TokenKind, _ name: String = "", sha256: UInt8, provider: Provider = .apns, expiresAt: Timestamp? = nil
    ) throws -> TypedToken {
        TypedToken(
            key: .make(kind, name), token: try Token(String(repeating: "\(sha256 % 10)", count: 16), of: provider),
            sha256: [sha256], receivedAt: noon.preceding(by: .days(2)), expiresAt: expiresAt)
    }
}
