import Testing

@testable import PushRegistry

@Suite("Feedback affects only registrations before its evidence (R9)")
struct EvidenceTests {
    private let touchInterval = AppPolicy.standard.touchInterval
    private let seen = noon.preceding(by: .days(3))

    @Test func evidence_isOutdated_upToTheLastRegistration() throws {
        for at in [Timestamp(milliseconds: 0)!, seen.preceding(by: .hours(1)), seen] {
            #expect(try LockedFeedback.outcome(of: .make(at: at), on: .make()) == .outdated)
        }
    }

    @Test func deadToken_isSuspect_withinTheTouchInterval() throws {
        let justAfter = Timestamp(microseconds: seen.microseconds + 1)
        let justBeforeEnd = Timestamp(microseconds: seen.advanced(by: touchInterval).microseconds - 1)
        for at in [justAfter, justBeforeEnd] {
            #expect(try LockedFeedback.outcome(of: .make(at: at), on: .make()) == .suspect)
        }
        #expect(
            try LockedFeedback.outcome(of: .make(at: seen.advanced(by: touchInterval)), on: .make()) == .unregistered)
    }

    @Test func evidence_datesFromReceipt_withoutATimeOrWithAFutureOne() throws {
        let recent = try Installation.make(lastSeenAt: noon.preceding(by: .hours(1)))
        for at in [nil, noon.advanced(by: .days(5))] {
            #expect(try LockedFeedback.outcome(of: .make(at: at), on: .make()) == .unregistered)
            #expect(try LockedFeedback.outcome(of: .make(at: at), on: recent) == .suspect)
            #expect(try LockedFeedback.outcome(of: .make(at: at), on: .make(lastSeenAt: noon)) == .outdated)
        }
    }

    @Test(arguments: [(Int64(9), FeedbackOutcome.outdated), (10, .unregistered), (12, .unregistered), (13, .outdated)])
    func generation_countsFromTheLastRegistrationToTheCurrentOne(generation: Int64, outcome: FeedbackOutcome) throws {
        let installation = try Installation.make(state: .suspect, generation: 12, registrationGeneration: 10)
        #expect(try LockedFeedback.outcome(of: .make(generation: generation), on: installation) == outcome)
    }

    @Test func timeAndGeneration_mustBothMatch() throws {
        #expect(try LockedFeedback.outcome(of: .make(at: seen, generation: 10), on: .make()) == .outdated)
        #expect(try LockedFeedback.outcome(of: .make(at: noon, generation: 9), on: .make()) == .outdated)
        #expect(try LockedFeedback.outcome(of: .make(at: noon, generation: 10), on: .make()) == .unregistered)
    }

    @Test func token_isUnknown_whenNoInstallationHoldsIt() throws {
        #expect(try LockedFeedback.outcome(of: .make(token: 9), on: .make()) == .unknown)
        #expect(try LockedFeedback.outcome(of: .make(token: nil, installID: "other"), on: .make()) == .unknown)
        #expect(try LockedFeedback.outcome(of: .make(provider: .apnsSandbox), on: .make()) == .unknown)
    }

    @Test func feedback_isOutdated_whenTokenAndInstallationDisagree() throws {
        var locked = try LockedFeedback.make([.make("phone", token: 1), .make("tablet", token: 2)])
        #expect(locked.apply(try .make(token: 1, installID: "tablet")) == .outdated)
        #expect(locked.apply(try .make(token: 9, installID: "phone")) == .outdated)
        #expect(locked.apply(try .make(token: 1, installID: "unheard-of")) == .outdated)
        #expect(locked.apply(try .make(token: nil, installID: "phone", provider: .apnsSandbox)) == .outdated)
        #expect(locked.changed.isEmpty && locked.events.isEmpty)
        #expect(locked.apply(try .make(token: 1, installID: "phone")) == .unregistered)
    }

    @Test func provider_isTheInstallations_whenNoneIsNamed() throws {
        let browser = try Installation.make(provider: .webPush)
        #expect(
            try LockedFeedback.outcome(of: .make("410", token: nil, installID: "phone", provider: nil), on: browser)
                == .unregistered)
        #expect(
            try LockedFeedback.outcome(of: .make("Unregistered", installID: "phone", provider: nil), on: browser)
                == .ignored)
    }

    @Test func feedback_isOutdated_whenTheInstallationHasNoToken() throws {
        let superseded = try Installation.make(token: nil, state: .superseded)
        #expect(try LockedFeedback.outcome(of: .make(token: nil, installID: "phone"), on: superseded) == .outdated)
    }
}

@Suite("A verdict changes the state once (R9)")
struct FeedbackStepTests {
    @Test(arguments: [InstallationState.loggedOut, .stale, .unregistered])
    func doubtfulVerdict_isIgnored_inUnreachableStates(state: InstallationState) throws {
        #expect(try LockedFeedback.outcome(of: .make("BadDeviceToken"), on: .make(state: state)) == .ignored)
    }

    /// For every verdict: dead, doubtful, or dead shortly after a registration.
    @Test(arguments: [
        ("Unregistered", noon, FeedbackOutcome.unregistered), ("BadDeviceToken", noon, .suspect),
        ("Unregistered", noon.preceding(by: .hours(70)), .suspect),
    ])
    func replacedInstallation_isRetired_whenItsTokenFails(
        reason: String, at: Timestamp, outcome: FeedbackOutcome
    ) throws {
        var locked = try LockedFeedback.make([.make(isProbablyReplaced: true)])
        #expect(locked.apply(try .make(reason, at: at)) == outcome)
        #expect(locked.apply(try .make()) == .unknown)
        let after = try #require(locked.changed.first)
        #expect(after.state == .superseded && after.tokenSHA256 == nil)
        #expect(locked.events.map(\.state) == [.superseded] && locked.events[0].reason == .reinstalled)
    }
}

@Suite("Feedback about another spelling of the token is about an address that the app has left (R9)")
struct FeedbackSpellingTests {
    private func phone(_ spelling: String, state: InstallationState = .active) throws -> Installation {
        var installation = try Installation.make(provider: .fcm, state: state)
        installation.spelling = try Token(spelling, of: .fcm)
        return installation
    }

    private let fid = "eAAAAAAAAAAAAAAAAAAAAA"

    private func item(
        _ reason: String, _ spelling: String, installID: String? = nil, provider: Provider? = .fcm
    ) throws -> FeedbackItem {
        try .make(reason, spelling: Token(spelling, of: .fcm), installID: installID, provider: provider)
    }

    /// Also for reasons that change nothing, and whether or not the item names the installation.
    @Test(arguments: ["UNREGISTERED", "INVALID_ARGUMENT", "QUOTA_EXCEEDED", ""], [nil, "phone"])
    func otherSpelling_isOutdated(reason: String, installID: String?) throws {
        for (now, then) in [(fid, "\(fid):a"), ("\(fid):a", fid), ("\(fid):a", "\(fid):b")] {
            for provider in installID == nil ? [Provider.fcm] : [.fcm, nil] {
                let item = try item(reason, then, installID: installID, provider: provider)
                #expect(try LockedFeedback.outcome(of: item, on: phone(now)) == .outdated)
                #expect(try LockedFeedback.outcome(of: item, on: phone(now, state: .unregistered)) == .outdated)
            }
        }
    }

    @Test func presentSpelling_isJudged() throws {
        for spelling in [fid, "\(fid):a"] {
            #expect(
                try LockedFeedback.outcome(of: item("UNREGISTERED", spelling), on: phone(spelling)) == .unregistered)
            #expect(try LockedFeedback.outcome(of: item("QUOTA_EXCEEDED", spelling), on: phone(spelling)) == .ignored)
        }
    }

    @Test func reasonThatChangesNothing_isIgnored_whereNoInstallationHasTheAddress() throws {
        let item = try FeedbackItem.make(
            "QUOTA_EXCEEDED", token: 9, spelling: Token(fid, of: .fcm), installID: nil, provider: .fcm)
        #expect(try LockedFeedback.outcome(of: item, on: phone(fid)) == .ignored)
        let moved = try FeedbackItem.make(
            "QUOTA_EXCEEDED", token: 9, spelling: Token(fid, of: .fcm), installID: "phone", provider: .fcm)
        #expect(try LockedFeedback.outcome(of: moved, on: phone(fid)) == .ignored)
    }

    /// An item without a provider may be of any; the text is a valid token of Huawei, too.
    @Test func spelling_saysNothing_aboutAnInstallationOfAnotherProvider() throws {
        let item = try item("80300007", "\(fid):a", installID: "phone", provider: nil)
        #expect(try LockedFeedback.outcome(of: item, on: .make(provider: .huawei)) == .suspect)
    }
}
