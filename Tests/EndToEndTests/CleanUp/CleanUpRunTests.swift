import Glibc
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    /// With its own registry, because a run concerns all apps.
    @Suite("A run of the night job can be tried, limited, repeated and undone", .separateRegistry, .serialized)
    struct CleanUpRunTests {
        /// One installation for each step, and one that does not change.
        private func mixed() async throws -> NightApp {
            let app = try await NightApp.make()
            for installID in ["stale", "old", "suspect", "bound", "out", "stays"] {
                try await app.register(installID, session: "session of \(installID)".replacing(" ", with: "-"))
            }
            try await app.suspect("suspect")
            _ = try await app.registry.send("POST", "/installations/out/logout", [:])
            for installID in ["stale", "old", "suspect", "out"] { try await app.age(installID, by: "61 days") }
            try await app.registry.update("old", "probably_replaced_by = 'stays'")
            try await app.registry.update("bound", "session_expires_at = now() - interval '1 second'")
            return app
        }

        @Test func dryRun_changesNothing_andPrintsTheNumbersOfTheRun() async throws {
            let app = try await mixed()
            var body = SampleRegistration.make("typed")
            body["tokens"] = [["kind": "voip", "token": "aabbccddeeff0011"]]
            #expect(try await app.registry.put("typed", body).status == 201)
            _ = try await app.registry.database.rows(
                """
                UPDATE typed_token SET expires_at = now() - interval '1 second'
                WHERE app_id = \(try await app.registry.number())
                """)
            let before = try await app.registry.database.count("SELECT count(*) FROM token_event")
            let dry = try await app.cleanUp(["--max-share", "100%", "--dry-run"])
            #expect(dry.status == 0 && dry.report["dryRun"] == true)
            #expect(try await app.registry.database.count("SELECT count(*) FROM token_event") == before)
            #expect(try await app.state("stale") == "active")
            let done = try await app.cleanUp()
            #expect(app.part(of: dry.report) == app.part(of: done.report))
            #expect(
                app.part(of: done.report)["counts"]
                    == [
                        "stale": 1, "sessionEnded": 1, "superseded": 1, "unregistered": 1, "purged": 1,
                        "typedTokens": 1,
                    ])
            let again = try await app.cleanUp()
            #expect(app.part(of: again.report)["counts"]["stale"] == 0)
        }

        /// By this name the job knows it.
        @Test func backgroundWork_hasASessionOfItsOwn_whichIsNoLoad() async throws {
            let app = try await NightApp.make()
            try await eventually("the service works in the background") {
                try await app.registry.database.count(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'push-registry background'") == 1
            }
        }

        @Test func breaker_skipsAWholeApp_andNoOther() async throws {
            let (wrong, right) = (try await NightApp.make(), try await NightApp.make())
            for app in [wrong, right] {
                for number in 0..<5 { try await app.register("phone-\(number)") }
                try await app.age("phone-0", by: "61 days")
            }
            try await wrong.age("phone-1", by: "61 days")
            let result = try await wrong.cleanUp([])
            #expect(result.status == 3)
            #expect(wrong.part(of: result.report)["refused"] == true)
            #expect(wrong.part(of: result.report)["leaving"] == 2)
            #expect(right.part(of: result.report)["refused"] == false)
            #expect(try await wrong.state("phone-0") == "active")
            #expect(try await right.state("phone-0") == "stale")
            #expect(try await wrong.cleanUp(["--max-share", "40%"]).status == 0)
            #expect(try await wrong.state("phone-1") == "stale")
        }

        @Test func breaker_countsJudgements_notSessionsThatExpired() async throws {
            let app = try await NightApp.make()
            for number in 0..<5 {
                try await app.register("phone-\(number)", session: "s-\(number)")
                try await app.registry.update("phone-\(number)", "session_expires_at = now() - interval '1 second'")
            }
            try await app.register("stale")
            try await app.age("stale", by: "61 days")
            let result = try await app.cleanUp(["--app", app.registry.id])
            #expect(result.status == 0)
            #expect(app.part(of: result.report)["leaving"] == 1 && app.part(of: result.report)["active"] == 6)
            #expect(app.part(of: result.report)["counts"]["sessionEnded"] == 5)
        }

        @Test func breaker_countsSuspects_thatWouldBeRetired() async throws {
            let app = try await NightApp.make()
            for installID in ["suspect", "phone"] { try await app.register(installID) }
            try await app.suspect("suspect")
            try await app.age("suspect", by: "8 days")
            let result = try await app.cleanUp(["--app", app.registry.id])
            #expect(result.status == 3)
            #expect(app.part(of: result.report)["leaving"] == 1 && app.part(of: result.report)["active"] == 2)
            #expect(try await app.state("suspect") == "suspect")
        }

        @Test func tombstones_areKept_inASkippedApp() async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            _ = try await app.registry.send("DELETE", "/sessions/old")
            try await app.passTombstones()
            try await app.age("phone", by: "61 days")
            let result = try await app.cleanUp(["--app", app.registry.id])
            #expect(result.status == 3 && result.report["tombstones"] == 0)
            let left = try await app.registry.database.column(
                "SELECT session_id FROM session JOIN app ON app.id = app_id WHERE identifier = \(app.registry.id)",
                as: String.self)
            #expect(left == ["old"])
        }

        @Test func run_isLimitedToNamedApps_andDoesNotChangeHistory() async throws {
            let (other, named) = (try await NightApp.make(), try await NightApp.make())
            for app in [other, named] {
                try await app.register("phone")
                try await app.age("phone", by: "61 days")
            }
            try await named.makePartitionOf2020()
            let arguments = ["--max-share", "100%", "--app", named.registry.id]
            let dry = try await named.cleanUp(arguments + ["--dry-run"])
            let result = try await named.cleanUp(arguments)
            #expect(result.status == 0 && result.report["apps"].array.count == 1)
            #expect(dry.report["apps"] == result.report["apps"])
            #expect(try await named.state("phone") == "stale")
            #expect(try await other.state("phone") == "active")
            #expect(result.report["partitionsDropped"] == 0)
            #expect(try await named.cleanUp().report["partitionsDropped"] == 1)
            #expect(try await named.cleanUp(["--app", "com.example.nobody"]).status == 64)
        }

        @Test func limits_areReadFromSettings() async throws {
            let app = try await NightApp.make()
            for installID in ["phone", "tablet"] { try await app.register(installID) }
            try await app.age("phone", by: "61 days")
            let run = ["cleanup", "--json", "--dry-run", "--app", app.registry.id]
            let half = ["PUSH_REGISTRY_CLEANUP_MAX_SHARE": "50%"]
            #expect(try await app.run(run).status == 3)
            #expect(try await app.run(run, environment: half).status == 0)
            #expect(try await app.run(run + ["--max-share", "40%"], environment: half).status == 3)
            try await app.makePartitionOf2020()
            let all = ["cleanup", "--json", "--dry-run", "--max-share", "100%"]
            let long = ["PUSH_REGISTRY_HISTORY_RETENTION": "P36500D"]
            #expect(try await app.run(all).report["partitionsDropped"] == 1)
            #expect(try await app.run(all, environment: long).report["partitionsDropped"] == 0)
            #expect(try await app.run(all, environment: ["PUSH_REGISTRY_HISTORY_RETENTION": "long"]).status == 64)
            try await app.cleanUp()
        }

        @Test func undo_restoresInstallations_thatHaveNotChangedSince() async throws {
            let app = try await mixed()
            let run = try #require(try await app.cleanUp().report["run"].integer)
            try await app.register("stale")
            let generation = try await app.registry.get("stale").json["generation"]
            let undone = try await app.run(["cleanup", "undo", "\(run)", "--json"])
            #expect(undone.status == 0)
            // A token and a session that were taken come back with the next registration.
            #expect(undone.report["restored"] == 1 && undone.report["skipped"] == 3)
            #expect(try await app.registry.get("stale").json["generation"] == generation)
            #expect(try await app.state("old") == "superseded")
            #expect(try await app.state("suspect") == "suspect")
            #expect(try await app.registry.get("bound").json["userId"] == .null)
            #expect(try await app.registry.get("out").status == 404)
            let event = try #require(try await app.registry.events(of: "suspect").last)
            #expect(event.event == "reactivated" && event.reason == "cleanupUndone")
            let runs = try await app.run(["cleanup", "runs", "--json"]).report["runs"]
            #expect(runs[0]["undoes"].integer == run && runs[0]["restored"] == 1)
            #expect(try await app.run(["cleanup", "undo", "\(run)", "--json"]).report["restored"] == 0)
        }

        /// The set comes back with the app's next registration.
        @Test func undo_restoresTheMainToken_andNotTheSet() async throws {
            let app = try await NightApp.make()
            var body = SampleRegistration.make("phone")
            body["tokens"] = [["kind": "voip", "token": "aabbccddeeff0022"]]
            #expect(try await app.registry.put("phone", body).status == 201)
            try await app.age("phone", by: "61 days")
            let run = try #require(try await app.cleanUp().report["run"].integer)
            let stale = try await app.registry.get("phone").json
            #expect(stale["state"] == "stale" && stale["tokens"] == [])
            #expect(try await app.run(["cleanup", "undo", "\(run)"]).status == 0)
            let restored = try await app.registry.get("phone").json
            #expect(restored["state"] == "active" && restored["token"] == body["token"] && restored["tokens"] == [])
            #expect(try await app.registry.put("phone", body).json["status"] == "updated")
            #expect(try await app.registry.get("phone").json["tokens"].array.count == 1)
        }

        @Test func secondRun_namesTheHolderOfTheLock_withItsExitCode() async throws {
            let app = try await NightApp.make()
            try await app.registry.database.withTransaction { transaction in
                _ = try await transaction.execute([
                    "SELECT pg_advisory_xact_lock(hashtext('push-registry: clean-up')::bigint)"
                ])
                let result = try await app.registry.registry.run(["cleanup"])
                #expect(result.status == 4)
                #expect(result.log.contains("in progress") && result.log.contains("session"), "\(result.log)")
            }
        }

        @Test func killedRun_isInterrupted_andTheNextContinues() async throws {
            let app = try await mixed()
            let number = try await app.registry.number()
            let run = try await app.registry.database.withTransaction { transaction in
                // Blocks the run's only batch.
                _ = try await transaction.execute([
                    "SELECT FROM installation WHERE app_id = \(number) AND install_id = 'stale' FOR UPDATE"
                ])
                let command = try await app.waitingCleanUp()
                command.send(SIGKILL)
                _ = try await command.exitStatus()
                return try await app.registry.database.column("SELECT max(id) FROM cleanup_run", as: Int32.self)[0]
            }
            try await eventually("PostgreSQL notices") { try await app.cleanUp().status == 0 }
            #expect(try await app.state("stale") == "stale")
            let outcome = try await app.registry.database.column(
                "SELECT outcome FROM cleanup_run WHERE id = \(run)", as: String.self)
            #expect(outcome == ["interrupted"])
        }

        @Test func registration_wins_whenItComesWhileTheRunWaitsForIt() async throws {
            let app = try await NightApp.make()
            try await app.register("phone")
            try await app.age("phone", by: "61 days")
            let command = try await app.registry.database.withTransaction { transaction in
                // Like a registration: locked, updated, not committed yet.
                _ = try await transaction.execute([
                    """
                    UPDATE installation SET last_seen_at = now(), revision = revision + 1
                    WHERE install_id = 'phone' AND app_id = (SELECT id FROM app WHERE identifier = \(app.registry.id))
                    """
                ])
                return try await app.waitingCleanUp()
            }
            #expect(try await command.exitStatus() == 0)
            #expect(try await app.state("phone") == "active")
            #expect(try await app.registry.events(of: "phone").map(\.event) == ["registered"])
        }

        @Test func partitions_areDroppedAndCreated_withTheirHistory() async throws {
            let app = try await NightApp.make()
            let database = app.registry.database
            try await app.makePartitionOf2020()
            _ = try await database.rows(
                """
                DO $$ BEGIN EXECUTE 'DROP TABLE settings_snapshot'
                    || to_char(now() AT TIME ZONE 'UTC' + interval '2 months', '_YYYY_MM'); END $$
                """)
            try await app.register("phone")
            _ = try await database.rows(
                """
                INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, state,
                    generation_before, generation_after)
                SELECT 1, day::timestamptz, (SELECT id FROM app WHERE identifier = \(app.registry.id)), 'old',
                    'registered', 'new', 'test', 'apns', 'active', 0, 1
                FROM unnest(ARRAY['2020-01-02', '2019-12-31', '2020-02-03']) AS day
                """)
            let dry = try await app.cleanUp(["--max-share", "100%", "--dry-run"]).report
            let report = try await app.cleanUp().report
            #expect(report["partitionsDropped"] == 1 && report["partitionsMade"] == 1 && report["historyRemoved"] == 2)
            for name in ["partitionsDropped", "partitionsMade", "historyRemoved", "tombstones", "apps"] {
                #expect(dry[name] == report[name], "\(name)")
            }
            #expect(
                try await database.count("SELECT count(*) FROM pg_class WHERE relname = 'token_event_2020_01'") == 0)
            #expect(try await app.registry.events(of: "phone").map(\.event) == ["registered"])
        }
    }
}
