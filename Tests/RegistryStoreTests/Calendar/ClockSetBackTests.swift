import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite(
    "The history of an installation survives a clock that is set back at the turn of a month (R12)",
    .enabled(if: MovableClock.isInstalled, "libfaketime is not installed: make packages"))
struct ClockSetBackTests {
    private static let start = Timestamp.at("2025-12-25T12:00:00Z")
    /// The night job's time, by a clock that is an hour fast.
    private static let night = Timestamp.at("2026-02-01T00:30:00Z")
    private let token = "aaaaaaaaaaaaaaaa"

    @Test func newLife_keepsItsEvents_whenTheNightJobPurgedTheOldOneUnderAFastClock() async throws {
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try await registry.withService { service in
                let stores = service.stores
                try await stores.register("phone", token: token, as: "alice")
                _ = try await service.users.logOut(
                    Logout(
                        key: stores.key("phone"), requester: .service, keepsAnonymous: false, precondition: nil,
                        actor: "service:test"))
                // The retention is 30 days.
                try registry.clock.set(to: Self.night)
                #expect(try await registry.cleanUp(.all).counts[.purged] == 1)
                try await setBackAndGoOn(registry, service)
            }
        }
    }

    /// The session of an inactive installation ends without a change of its state.
    @Test func returningInstallation_keepsItsEvents_whenItsSessionEndedUnderAFastClock() async throws {
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try await registry.withService { service in
                let stores = service.stores
                try registry.clock.set(to: .at("2026-01-20T12:00:00Z"))
                try await stores.register("phone", token: token, as: "alice", session: "s")
                try await stores.change("UPDATE installation SET session_expires_at = now() + interval '5 days'")
                try registry.clock.set(to: .at("2026-01-22T12:00:00Z"))
                _ = try await stores.judge([token])
                #expect(try await stores.installation("phone")?.state == .unregistered)
                try registry.clock.set(to: Self.night)
                #expect(try await registry.cleanUp(.all).counts[.sessionEnded] == 1)
                try await setBackAndGoOn(registry, service)
            }
        }
    }

    @Test func choices_keepTheirOrder_whenAnotherServiceTakesOverUnderAClockThatWasSetBack() async throws {
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try registry.clock.set(to: .at("2026-01-31T23:59:58Z"))
            let log = try await registry.withService { service in
                try await service.stores.register("phone", token: token, as: "alice")
                try registry.clock.move(by: .seconds(4))
                try await choose("t1", on: "phone", service)
                var log = EventLog()
                try await log.read(from: service.stores, "before")
                return log
            }
            try registry.clock.move(by: .seconds(-3_600))
            try await registry.withService { service in
                var log = log
                try await choose("t3", on: "phone", service)
                try await log.read(from: service.stores, "after")
                #expect(log.lives["phone"]?.count == 3)
                try await setBackAndGoOn(registry, service, by: .zero)
            }
        }
    }

    /// The sign-ins have later times than the logout then.
    @Test func logoutOfAUser_endsTheSessionsOfBefore_afterTheClockWasSetBack() async throws {
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try await registry.withService { service in
                let stores = service.stores
                for (first, second) in [("a", "b"), ("c", "d")] {
                    // Only the second one is bound when the user is logged out.
                    for session in [first, second] {
                        try await stores.register("phone", token: token, as: "alice", session: session)
                    }
                    try registry.clock.move(by: .seconds(-3_600))
                    _ = try await service.users.end(
                        SessionEnd(
                            app: stores.app.number, scope: .user(UserID("alice"), except: nil),
                            catalogue: stores.app.topics, actor: "service:test"))
                    for session in [first, second] {
                        await #expect(throws: RegistrationRefusal.self) {
                            try await stores.register("phone", token: token, as: "alice", session: session)
                        }
                    }
                }
            }
        }
    }

    /// Nobody but the job has seen the time.
    @Test func data_isWhole_whenTheClockIsSetBackAfterTheNightJob() async throws {
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try await registry.withService { service in
                try await service.stores.register("phone", token: token)
                try registry.clock.set(to: .at("2026-04-10T12:00:00Z"))
                #expect(try await registry.cleanUp(.all).counts[.stale] == 1)
                try registry.clock.move(by: .seconds(-86_400))
                try await service.stores.expectIntact()
                try await service.stores.register("phone", token: token)
                try await service.stores.expectIntact()
            }
        }
    }

    private func choose(_ slug: String, on installID: String, _ service: SimulatedService) async throws {
        let app = service.stores.app
        let patch = TopicsPatch(
            TopicChange.tolerated([(slug, true)], in: app.topics), of: app, credential: nil, actor: "service:test")
        _ = try await service.topics.apply(patch, to: service.stores.key(installID), for: .service)
    }

    /// The phone registers under the clock that was set back, and later again. Then January is dropped.
    private func setBackAndGoOn(
        _ registry: SimulatedRegistry, _ service: SimulatedService, by distance: Duration = .seconds(3_600)
    ) async throws {
        let stores = service.stores
        try registry.clock.move(by: .zero - distance)
        try await stores.register("phone", token: token, as: "alice")
        try await stores.register("phone", token: "bbbbbbbbbbbbbbbb", as: "alice")
        var log = EventLog()
        try await log.read(from: stores, "after the clock was set back")
        try registry.clock.set(to: .at("2026-02-01T02:00:00Z"))
        try await stores.register("phone", token: "cccccccccccccccc", as: "alice")
        try registry.clock.set(to: .at("2026-03-15T12:00:00Z"))
        var options = CleanUp.Options.all
        options.historyRetention = .days(40)
        #expect(try await registry.cleanUp(options).partitionsDropped > 0)
        try await stores.expectIntact()
    }
}

extension CleanUp.Options {
    /// The breaker lets everything go.
    fileprivate static var all: CleanUp.Options {
        var options = CleanUp.Options()
        options.breaker = CleanUpBreaker(maxShare: 1)
        return options
    }
}
