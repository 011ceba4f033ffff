import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("If-Match protects a segment against concurrent changes")
    struct SegmentChangeTests {
        private func put(_ app: RegistryApp, _ filter: JSON, ifMatch: String? = nil) async throws -> HTTPResponse {
            try await app.send(
                "PUT", "/segments/s", ["filter": filter], by: .role(.marketing),
                fields: ifMatch.map { [("If-Match", $0)] } ?? [])
        }

        @Test func segment_isReplacedOrDeleted_onlyIfItHasNotChanged() async throws {
            let app = try await RegistryApp.make()
            #expect(try await put(app, [:], ifMatch: "*").status == 412, "there is none yet")
            let first = try await put(app, ["locale": "de"])
            let tag = try #require(first["ETag"])
            #expect(try await app.send("GET", "/segments/s", by: .role(.marketing))["ETag"] == tag)
            let second = try await put(app, ["locale": "fr"], ifMatch: tag)
            #expect(second.status == 200 && second["ETag"] != tag)
            let refused = try await put(app, ["locale": "it"], ifMatch: tag)
            #expect(refused.status == 412 && refused.code == "outdated" && refused["ETag"] == second["ETag"])
            #expect(try await put(app, ["locale": "it"], ifMatch: "\"other\"").status == 412)
            let kept = try await app.send(
                "DELETE", "/segments/s", by: .role(.marketing), fields: [("If-Match", tag)])
            #expect(kept.status == 412)
            #expect(try await app.send("GET", "/segments/s", by: .role(.sender)).json["filter"] == ["locale": "fr"])
            let gone = try await app.send(
                "DELETE", "/segments/s", by: .role(.marketing), fields: [("If-Match", second["ETag"] ?? "")])
            #expect(gone.status == 204)
        }

        @Test func onlyOneChange_passes_when8RaceWithTheSameTag() async throws {
            let app = try await RegistryApp.make()
            let tag = try await put(app, [:])["ETag"]
            let statuses = try await race(8) { try await put(app, ["carrier": .string("\($0)")], ifMatch: tag).status }
            #expect(statuses.count { $0 == 200 } == 1 && statuses.count { $0 == 412 } == 7, "\(statuses)")
        }

        /// Longer than a batch of registrations waits for a lock.
        @Test(arguments: [("PUT", "/segments/s"), ("PATCH", "")])
        func change_waits_forAnotherChangeOfItsApp(method: String, path: String) async throws {
            let app = try await RegistryApp.make()
            let body: JSON = path.isEmpty ? ["staleAfter": ["apns": "P70D"]] : ["filter": [:]]
            try await app.database.withTransaction { transaction in
                let rows = try await transaction.execute(
                    "SELECT pg_backend_pid() FROM app WHERE identifier = \(app.id) FOR UPDATE")
                let holder: Int32 = try rows[0].decode(0)
                async let change = app.send(method, path, body, by: .role(.admin))
                try await eventually("the change has waited") {
                    try await app.database.count(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE \(holder) = ANY (pg_blocking_pids(pid))
                            AND clock_timestamp() - query_start > interval '300 ms'
                        """) == 1
                }
                try await transaction.commit()
                #expect(try await change.status == (path.isEmpty ? 200 : 201))
            }
        }
    }
}
