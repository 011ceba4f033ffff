import Testing

@testable import PushRegistry

@Suite("The breaker believes dead verdicts up to a count and a share of an hour, and holds the others (R9)")
struct FeedbackBreakerTests {
    private static let breaker = FeedbackBreaker(count: 3, share: 0.25)

    private func app(_ breaker: FeedbackBreaker? = Self.breaker) throws -> App {
        var draft = AppPolicy.Draft()
        draft.feedbackBreaker = breaker.map { .limits($0) } ?? .off
        return App(number: AppNumber(1), id: try AppID("com.example.mail"), policy: try AppPolicy(draft))
    }

    private func locked(
        _ installations: [Installation], _ hours: [FeedbackHour.Key: FeedbackHour], _ app: App
    ) -> LockedFeedback {
        LockedFeedback(
            Feedback(of: app, items: [], actor: "sender:1"), on: installations, hours: hours, receivedAt: noon,
            now: noon)
    }

    /// The outcomes of dead verdicts on so many active installations of so many.
    private func outcomes(
        _ count: Int, of active: Int64?, stored: FeedbackHour.Stored? = nil, by breaker: FeedbackBreaker? = Self.breaker
    ) throws -> (outcomes: [FeedbackOutcome], hour: FeedbackHour, events: [TokenEvent]) {
        let installations = try (0..<count).map { try Installation.make("phone-\($0)", token: UInt8($0)) }
        let key = FeedbackHour.Key(.apns)
        var locked = locked(
            installations, [key: FeedbackHour(stored, activeNow: active, at: noon)], try app(breaker))
        let outcomes = try (0..<count).map { locked.apply(try FeedbackItem.make(token: UInt8($0))) }
        return (outcomes, try #require(locked.hours[key]), locked.events)
    }

    private func stored(
        dead: Int64, began: Timestamp = noon, active: Int64? = nil, countedAt: Timestamp? = nil,
        lastHeldAt: Timestamp? = nil
    ) -> FeedbackHour.Stored {
        FeedbackHour.Stored(began: began, dead: dead, active: active, countedAt: countedAt, lastHeldAt: lastHeldAt)
    }

    @Test func verdictsBeyondCountAndShare_areHeld_eachByItself() throws {
        // A quarter of 20 is 5: the sixth exceeds both limits.
        let (outcomes, hour, events) = try outcomes(8, of: 20)
        #expect(outcomes == Array(repeating: .unregistered, count: 5) + Array(repeating: .held, count: 3))
        #expect(hour.added == 8 && hour.held == 3 && hour.hasOpened && hour.heldAt == noon && !hour.needsCount)
        #expect(events.suffix(3).allSatisfy { $0.kind == .suspect && $0.reason == .feedbackBreaker })
        #expect(events.suffix(3).allSatisfy { $0.state == .suspect && $0.generationAfter == 11 })
    }

    @Test(arguments: [(4, 16, 0), (4, 15, 1), (3, 3, 0), (4, 4, 1), (5, 20, 0), (6, 24, 0), (6, 23, 1)])
    func verdict_isBelieved_ifOnlyOneLimitIsExceeded(count: Int, active: Int64, held: Int) throws {
        #expect(try outcomes(count, of: active).outcomes.count { $0 == .held } == held)
    }

    @Test func nothingIsHeld_ifThePolicyTurnsTheBreakerOff() throws {
        let (outcomes, hour, _) = try outcomes(8, of: 8, by: nil)
        #expect(outcomes.allSatisfy { $0 == .unregistered } && hour.added == 0)
    }

    @Test func activeInstallations_areThoseOfNow_andThoseThatWereDeadInTheHour() throws {
        // 4 died already: 16 were active.
        let (outcomes, _, _) = try outcomes(2, of: 12, stored: stored(dead: 4))
        #expect(outcomes == [.held, .held])
        #expect(try self.outcomes(1, of: 13, stored: stored(dead: 4)).outcomes == [.held])
        #expect(try self.outcomes(1, of: 16, stored: stored(dead: 4)).outcomes == [.unregistered])
    }

    @Test func hour_beginsAnew_anHourAfterItsFirstVerdict() throws {
        let before = stored(
            dead: 100, began: noon.preceding(by: .hours(1)), active: 20, lastHeldAt: noon.preceding(by: .hours(1)))
        let (outcomes, hour, _) = try outcomes(2, of: nil, stored: before)
        #expect(outcomes == [.unregistered, .unregistered])
        #expect(hour.began == noon && hour.dead == 2 && hour.forgotten == 100 && !hour.isOpen)
        let present = stored(dead: 100, began: noon.preceding(by: ISO8601Duration(seconds: 3_599)), lastHeldAt: noon)
        #expect(try self.outcomes(2, of: nil, stored: present).outcomes == [.held, .held])
    }

    /// Nobody counts the active installations at each call.
    @Test func activeInstallations_areCounted_onlyIfThatMayDecide() throws {
        func needsCount(_ dead: Int64, active: Int64?, seconds: Int64 = 0) throws -> Bool {
            let countedAt = active.map { _ in noon.preceding(by: ISO8601Duration(seconds: seconds)) }
            let began = noon.preceding(by: ISO8601Duration(seconds: 600))
            let before = stored(dead: dead, began: began, active: active, countedAt: countedAt)
            return try outcomes(1, of: nil, stored: before).hour.needsCount
        }
        #expect(try !needsCount(2, active: nil) && needsCount(3, active: nil))
        #expect(try !needsCount(3, active: 100, seconds: 59) && needsCount(3, active: 100, seconds: 60))
        // A verdict is not held by an old count.
        #expect(
            try needsCount(3, active: 8, seconds: 1) && !outcomes(1, of: 5, stored: stored(dead: 3)).hour.needsCount)
    }

    @Test func decision_holdsAsLongAsOtherCallsStayBelowTheLimits() throws {
        #expect(try outcomes(1, of: nil).hour.deadMax(of: Self.breaker) == 3)
        #expect(try outcomes(4, of: 100).hour.deadMax(of: Self.breaker) == 24)
        #expect(try outcomes(8, of: 20).hour.deadMax(of: Self.breaker) == 8)
        let open = stored(dead: 100, lastHeldAt: noon)
        #expect(try outcomes(1, of: nil, stored: open).hour.deadMax(of: Self.breaker) == .max)
    }

    @Test func otherVerdicts_doNotCount() throws {
        let installations = [
            try Installation.make("doubtful", token: 1), try Installation.make("late", token: 2, lastSeenAt: noon),
            try Installation.make("dead", token: 3, state: .unregistered),
            try Installation.make("recent", token: 4, lastSeenAt: noon.preceding(by: .hours(1))),
        ]
        var locked = locked(installations, [:], try app())
        #expect(locked.apply(try FeedbackItem.make("BadDeviceToken", token: 1)) == .suspect)
        #expect(locked.apply(try FeedbackItem.make(token: 2)) == .outdated)
        #expect(locked.apply(try FeedbackItem.make(token: 3)) == .ignored)
        #expect(locked.apply(try FeedbackItem.make(token: 9)) == .unknown)
        #expect(locked.apply(try FeedbackItem.make("Throttled", token: 1)) == .ignored)
        #expect(locked.hours.isEmpty)
        // Dead, though the app was seen shortly before.
        #expect(locked.apply(try FeedbackItem.make(token: 4)) == .suspect)
        #expect(locked.hours[.init(.apns)]?.added == 1)
    }

    /// Senders repeat their feedback while the outage lasts.
    @Test func openBreaker_changesNothing_thatIsNotActive() throws {
        let open = FeedbackHour(stored(dead: 100, lastHeldAt: noon), at: noon)
        let states: [InstallationState] = [.suspect, .stale, .loggedOut]
        let installations = try states.enumerated().map { index, state in
            try Installation.make("phone-\(index)", token: UInt8(index), state: state)
        }
        var locked = locked(installations, [.init(.apns): open], try app())
        for index in states.indices { #expect(locked.apply(try FeedbackItem.make(token: UInt8(index))) == .ignored) }
        #expect(locked.changes.isEmpty && locked.hours[.init(.apns)]?.added == 0)
    }

    /// R5: the outage proves no reinstall.
    @Test func openBreaker_keepsTheToken_ofOneThatWasProbablyReplaced() throws {
        let open = FeedbackHour(stored(dead: 100, lastHeldAt: noon), at: noon)
        var locked = locked([try Installation.make(isProbablyReplaced: true)], [.init(.apns): open], try app())
        #expect(locked.apply(try FeedbackItem.make()) == .held)
        #expect(locked.changed.first?.state == .suspect && locked.changed.first?.tokenSHA256 != nil)
    }

    @Test func providers_haveHoursOfTheirOwn() throws {
        let open = FeedbackHour(stored(dead: 100, lastHeldAt: noon), at: noon)
        var locked = locked([try Installation.make(provider: .fcm)], [.init(.apns): open], try app())
        #expect(locked.apply(try FeedbackItem.make("UNREGISTERED", provider: .fcm)) == .unregistered)
    }

    @Test func repair_changesOnlyWhatIsAsItsEventHasLeftIt() throws {
        func repair(_ decision: FeedbackRepair.Decision) -> FeedbackRepair {
            FeedbackRepair(of: AppNumber(1), provider: .apns, decision, isDryRun: false, actor: "admin:1")
        }
        let held = try Installation.make(state: .suspect, generation: 11)
        let released = try #require(repair(.release).outcome(for: held, after: 11, at: noon))
        #expect(released.after.state == .unregistered && released.after.generation == 12)
        #expect(released.event.kind == .unregistered && released.event.reason == .feedbackBreaker)
        let restored = try #require(repair(.restore(since: noon)).outcome(for: held, after: 11, at: noon))
        #expect(restored.after.state == .active && restored.event.kind == .reactivated)
        #expect(restored.event.reason == .feedbackRestored && restored.event.actor == "admin:1")
        #expect(repair(.release).outcome(for: held, after: 10, at: noon) == nil)
        let moved = try Installation.make(provider: .apnsSandbox, state: .suspect, generation: 11)
        #expect(repair(.release).outcome(for: moved, after: 11, at: noon) == nil)
    }
}
