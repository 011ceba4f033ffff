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

@Suite("The breaker holds verdicts on typed tokens, by kind, until an administrator decides (R9)")
struct HeldTokenTests {
    private static let voip = FeedbackHour.Key(.apns, kind: "voip")

    /// Eight installations with a VoIP token each, and the breaker's hour: more than 3 of 20 are too many.
    private func locked(
        heldAt: Timestamp? = nil, states: [InstallationState] = [], _ hours: [FeedbackHour.Key: FeedbackHour]? = nil
    ) throws -> LockedFeedback {
        var draft = AppPolicy.Draft()
        draft.feedbackBreaker = .limits(FeedbackBreaker(count: 3, share: 0.15))
        let app = App(number: AppNumber(1), id: try AppID("com.example.mail"), policy: try AppPolicy(draft))
        let installations = try (0..<8).map { number in
            try Installation.make(
                "phone-\(number)", token: UInt8(100 + number),
                state: number < states.count ? states[number] : .active)
        }
        let tokens = try (0..<8).map { number in
            (InstallationKey.make("phone-\(number)"), try TypedToken.make(.voip, sha256: UInt8(number), heldAt: heldAt))
        }
        return LockedFeedback(
            Feedback(of: app, items: [], actor: "sender:1"), on: installations,
            tokens: LockedTokens(tokens, now: noon),
            hours: hours ?? [Self.voip: FeedbackHour(nil, activeNow: 20, at: noon)], receivedAt: noon, now: noon)
    }

    private func outcomes(_ locked: inout LockedFeedback, _ reason: String = "Unregistered") throws -> [FeedbackOutcome]
    {
        try (0..<8).map { locked.apply(try .make(reason, token: UInt8($0), kind: .voip)) }
    }

    private var open: FeedbackHour {
        FeedbackHour(
            .init(began: noon, dead: 100, active: nil, countedAt: nil, lastHeldAt: noon), at: noon)
    }

    /// A `BadDeviceToken` removes a typed token, so it counts as dead.
    @Test(arguments: ["Unregistered", "BadDeviceToken"])
    func verdictsBeyondTheLimits_keepTheToken_andItIsNotHandedOut(reason: String) throws {
        var locked = try locked()
        #expect(
            try outcomes(&locked, reason)
                == Array(repeating: .unregistered, count: 3) + Array(repeating: .held, count: 5))
        let changes = try #require(locked.tokens?.changes)
        #expect(changes.flatMap(\.removed).count == 3 && locked.removed == [.voip: 3])
        #expect(changes.flatMap(\.written).map(\.heldAt) == Array(repeating: noon, count: 5))
        #expect(locked.tokens?.disturbed.count == 8 && locked.changed.isEmpty && locked.events.isEmpty)
        let hour = try #require(locked.hours[Self.voip])
        #expect(hour.added == 8 && hour.held == 5 && hour.hasOpened)
    }

    @Test func kindsAndMainTokens_haveHoursOfTheirOwn() throws {
        var locked = try locked([Self.voip: open])
        #expect(locked.apply(try .make(token: 0, kind: .voip)) == .held)
        #expect(locked.apply(try .make(token: 100)) == .unregistered)
        var other = try self.locked([.init(.apns, kind: "widget"): open, .init(.apns): open])
        #expect(other.apply(try .make(token: 0, kind: .voip)) == .unregistered)
    }

    /// Senders repeat their feedback while the outage lasts.
    @Test func openBreaker_changesNothing_thatIsNotHandedOut() throws {
        var locked = try locked(heldAt: noon.preceding(by: .hours(1)), [Self.voip: open])
        #expect(try outcomes(&locked).allSatisfy { $0 == .ignored } && locked.tokens?.changes.isEmpty == true)
        var suspect = try self.locked(states: [.suspect], [Self.voip: open])
        #expect(suspect.apply(try .make(token: 0, kind: .voip)) == .ignored)
        #expect(suspect.hours[Self.voip]?.added == 0)
    }

    @Test func nextHour_believesAVerdict_onAHeldToken() throws {
        var locked = try locked(heldAt: noon.preceding(by: .hours(2)), [:])
        #expect(locked.apply(try .make(token: 0, kind: .voip)) == .unregistered && locked.removed == [.voip: 1])
    }

    @Test func token_isHeldUnderAllItsNames_asOneVerdict() throws {
        let tokens: [TypedToken] = try [
            .make(.liveActivityStart, "a", sha256: 7), .make(.liveActivityStart, "b", sha256: 7),
        ]
        var locked = LockedFeedback(
            Feedback(
                of: App(number: AppNumber(1), id: try AppID("com.example.mail"), policy: .standard), items: [],
                actor: "sender:1"), on: [try .make()],
            tokens: LockedTokens(tokens.map { (.make("phone"), $0) }, now: noon),
            hours: [.init(.apns, kind: "liveActivityStart"): open], receivedAt: noon, now: noon)
        #expect(locked.apply(try .make(token: 7)) == .held)
        #expect(locked.tokens?.changes.flatMap(\.written).count == 2)
        #expect(locked.hours.values.map(\.held) == [1])
    }

    @Test func repair_isAboutHeldTokensOfItsProvider_sinceItsTime() throws {
        let early = noon.preceding(by: .hours(2))
        let tokens: [TypedToken] = try [
            .make(.voip, sha256: 1, heldAt: noon), .make(.widget, sha256: 2, heldAt: early),
            .make(.location, sha256: 3), .make(.complication, sha256: 4, provider: .apnsSandbox, heldAt: noon),
            .make(.pushToTalk, sha256: 5, expiresAt: noon, heldAt: early),
        ]
        func apply(_ decision: FeedbackRepair.Decision) -> (counts: [TokenKind: Int], tokens: LockedTokens) {
            var locked = LockedTokens(tokens.map { (.make("phone"), $0) }, now: noon)
            let repair = FeedbackRepair(
                of: AppNumber(1), provider: .apns, decision, isDryRun: false, actor: "admin:1")
            return (locked.apply(repair), locked)
        }
        let released = apply(.release)
        #expect(released.counts == [.voip: 1, .widget: 1])
        #expect(Set(released.tokens.changes.flatMap(\.removed)) == [.make(.voip), .make(.widget)])
        #expect(released.tokens.disturbed == [.make("phone")])
        let restored = apply(.restore(since: noon))
        #expect(restored.counts == [.voip: 1])
        #expect(restored.tokens.changes.flatMap(\.written).map(\.key) == [.make(.voip)])
        #expect(restored.tokens.changes.flatMap(\.written).allSatisfy { !$0.isHeld })
        #expect(apply(.restore(since: early)).counts == [.voip: 1, .widget: 1])
    }

    @Test func tokens_areCountedNoFurther_thanItMatters() throws {
        var hour = FeedbackHour(.init(began: noon, dead: 1_000, active: nil, countedAt: nil, lastHeldAt: nil), at: noon)
        #expect(hour.judge(by: .standard, isOnActive: true) == .believed && hour.needsCount)
        let most = hour.activeMax(by: .standard)
        #expect(most == 40_040)
        var counted = FeedbackHour(hour.stored, activeNow: most, at: noon)
        for _ in 0..<1_000 { #expect(counted.judge(by: .standard, isOnActive: true) == .believed) }
        #expect(!counted.needsCount)
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
        _ kind: TokenKind, _ name: String = "", sha256: UInt8, provider: Provider = .apns, expiresAt: Timestamp? = nil,
        heldAt: Timestamp? = nil
    ) throws -> TypedToken {
        TypedToken(
            key: .make(kind, name), token: try Token(String(repeating: "\(sha256 % 10)", count: 16), of: provider),
            sha256: [sha256], receivedAt: noon.preceding(by: .days(2)), expiresAt: expiresAt, heldAt: heldAt)
    }
}
