import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    /// With its own registry, because a run concerns all apps.
    @Suite(
        "The night job deletes notifications that nobody can fetch any more (fine print 65, 66)", .separateRegistry,
        .serialized)
    struct NotificationNightTests {
        @Test func expiredNotifications_arePurged_andTheOthersStay() async throws {
            let app = try await NightApp.make()
            let key = try await app.registry.phone(as: "alice")
            for number in 0..<3 {
                try await app.registry.post(toPhone: "phone", "old", ["dedupId": .string("old \(number)")])
            }
            try await app.registry.expireNotifications()
            try await app.registry.post(toPhone: "phone", "new", ["dedupId": "new"])
            #expect(try await app.cleanUp().status == 0)
            // The counter, a notification, and a remembered post.
            #expect(try await app.registry.notificationRows() == 3)
            let response = try await app.registry.fetch("phone", by: key)
            #expect(response.numbers == [4] && response.json["last"] == 4)
        }

        @Test func expiredSession_andPurge_deleteNotifications() async throws {
            let app = try await NightApp.make(policy: ["retention": "P1D"])
            for phone in ["expired", "left"] {
                try await app.registry.phone(phone, as: phone, session: phone)
                try await app.registry.post(toPhone: phone, 1, ["dedupId": "d"])
            }
            try await app.registry.update("expired", "session_expires_at = now() - interval '1 second'")
            try await app.registry.update("left", "state = 'stale'")
            try await app.age("left", by: "3 days")
            #expect(try await app.cleanUp().status == 0)
            #expect(try await app.registry.notificationRows() == 0)
            #expect(try await app.registry.get("left").status == 404)
        }

        @Test func undoneRun_beginsAnotherEpoch_forARestoredSession() async throws {
            let app = try await NightApp.make()
            let key = try await app.registry.phone(as: "alice", session: "s")
            try await app.registry.update("phone", "session_expires_at = now() - interval '1 second'")
            let report = try await app.cleanUp().report
            let run = try #require(report["run"].integer)
            #expect(try await app.run(["cleanup", "undo", "\(run)"]).status == 0)
            #expect(try await app.registry.fetch("phone", by: key).status == 401)
        }
    }
}
