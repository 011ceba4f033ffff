import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite(
        "If a worker of a Citus cluster fails, only its apps are refused", .serialized,
        .enabled(if: CitusCluster.isWanted))
    struct WorkerFailureTests {
        @Test func appsOfOtherWorkers_areServed_andThoseOfAKilledWorkerReturn() async throws {
            try await withDistributedRegistry { registry, workers in
                let (near, far) = (try await RegistryApp.make(in: registry), try await RegistryApp.make(in: registry))
                try await move(near, to: workers[0])
                try await move(far, to: workers[1])
                let undisturbed = try await Load.run(on: far) { farLedger in
                    let disturbed = try await Load.run(on: near) { nearLedger in
                        _ = try await nearLedger.timeToHeal()
                        await workers[0].kill()
                        try await eventually("the app of the killed worker is refused") {
                            try await near.put("probe", as: "alice").status == 503
                        }
                        // The other app goes on, while the worker is away.
                        for _ in 0..<3 { #expect(try await farLedger.timeToHeal() < .seconds(5)) }
                        try await workers[0].restart()
                        #expect(try await nearLedger.timeToHeal() < .seconds(20))
                    }
                    disturbed.expectClearRefusals()
                    try await near.expectKept(disturbed)
                }
                #expect(undisturbed.refusals.isEmpty)
                try await far.expectKept(undisturbed)
                try await registry.expectVerified()
            }
        }

        /// The statements of feedback, of a fold and of the night job concern one node each.
        @Test func feedbackAndTheNightJob_changeTheOtherApps_whileAWorkerIsAway() async throws {
            try await withDistributedRegistry { registry, workers in
                let (near, far) = (try await RegistryApp.make(in: registry), try await RegistryApp.make(in: registry))
                try await move(near, to: workers[0])
                try await move(far, to: workers[1])
                for app in [near, far] { try await app.prepareNight() }
                await workers[0].kill()
                #expect(try await near.feedback([.dead("dead")]).status == 503)
                #expect(try await far.feedback([.dead("dead")]).counts == ["received": 1, "unregistered": 1])
                let night = try await cleanUp(registry)
                // History lies on all nodes.
                #expect(night.status == 1 && night.report["historyFault"].string != nil)
                #expect(night.part(near)["nodeFault"].string != nil)
                #expect(night.part(far)["nodeFault"] == .null)
                #expect(
                    night.part(far)["counts"]
                        == [
                            "stale": 1, "sessionEnded": 1, "superseded": 1, "unregistered": 0, "purged": 1,
                            "typedTokens": 0,
                        ])
                #expect(try await far.get("unseen").json["state"] == "stale")
                #expect(try await far.pendingDeltas() == 0)

                try await workers[0].restart()
                #expect(try await near.feedback([.dead("dead")]).counts == ["received": 1, "unregistered": 1])
                let next = try await cleanUp(registry)
                #expect(next.status == 0 && next.part(near)["counts"]["stale"] == 1)
                // A session finds out only once that its connection to the killed worker is broken.
                _ = try? await registry.database.rows("SELECT count(*) FROM installation")
                for app in [near, far] { try await app.expectCompleteHistory() }
                try await registry.expectVerified()
            }
        }

        /// A process that is stopped keeps its connections, so nothing refuses a statement.
        @Test func appsOfOtherWorkers_areServedWithoutDelay_whileAWorkerHangs() async throws {
            try await withDistributedRegistry { registry, workers in
                let (near, far) = (try await RegistryApp.make(in: registry), try await RegistryApp.make(in: registry))
                try await move(near, to: workers[0])
                try await move(far, to: workers[1])
                let undisturbed = try await Load.run(on: far) { farLedger in
                    let disturbed = try await Load.run(on: near) { nearLedger in
                        _ = try await nearLedger.timeToHeal()
                        await workers[0].suspend()
                        let start = ContinuousClock.now
                        // A statement about the other app would end after ten seconds.
                        while start.duration(to: .now) < .seconds(6) {
                            #expect(try await farLedger.timeToHeal() < .seconds(3))
                        }
                        #expect(try await near.get("phone-0-0").status == 503)
                        #expect(try await far.get("phone-0-0").status == 200)
                        await workers[0].resume()
                        #expect(try await nearLedger.timeToHeal() < .seconds(15))
                    }
                    disturbed.expectClearRefusals()
                    try await near.expectKept(disturbed)
                }
                #expect(undisturbed.refusals.isEmpty)
                try await far.expectKept(undisturbed)
            }
        }

        private struct Night {
            let status: Int32
            let report: JSON

            func part(_ app: RegistryApp) -> JSON {
                report["apps"].array.first { $0["app"].string == app.id } ?? .null
            }
        }

        private func cleanUp(_ registry: Registry) async throws -> Night {
            let result = try await registry.run(["cleanup", "--json", "--max-share", "100%"])
            return Night(status: result.status, report: (try? JSON(parsing: Array(result.output.utf8))) ?? .null)
        }

        private func move(_ app: RegistryApp, to worker: EmbeddedPostgres) async throws {
            let result = try await app.registry.run(["apps", "move", app.id, "\(worker.node.host):\(worker.node.port)"])
            try #require(result.status == 0, "\(result.log)")
        }
    }
}

extension RegistryApp {
    /// Makes one installation of each kind due. `dead` is not due, and was seen two days ago.
    fileprivate func prepareNight() async throws {
        let expiry = Date.now.addingTimeInterval(2).formatted(.iso8601)
        let session = [("X-User-Id", "bob"), ("X-Session-Id", "s"), ("X-Session-Expires-At", expiry)]
        _ = try await send("PUT", "/installations/expired", SampleRegistration.make("expired"), fields: session)
        for phone in ["replaced", "replacement"] {
            var body = SampleRegistration.make(phone)
            body["device"]["keychainId"] = "k"
            body["device"]["vendorId"] = .null
            _ = try await put(phone, body, as: "alice")
        }
        for phone in ["dead", "unseen", "old"] { _ = try await put(phone, as: "alice") }
        let logout = try await send("POST", "/installations/old/logout", fields: [("X-User-Id", "alice")])
        try #require(logout.json["status"] == "loggedOut")
        for (phone, time) in [("dead", "2 days"), ("replaced", "8 days"), ("old", "31 days"), ("unseen", "61 days")] {
            try await age(phone, by: time)
        }
        try await eventually("the session expires") { try await get("expired").json["reachable"] == false }
    }

    /// Deltas that are not folded.
    fileprivate func pendingDeltas() async throws -> Int {
        let app = try await number()
        return try await database.count(
            """
            SELECT count(*) FROM rollup_delta WHERE app_id = \(app)
                AND transaction_id >= (SELECT horizon FROM rollup_state WHERE app_id = \(app))
            """)
    }
}
