import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite(
        "The night job's runs can be read by the API, with what an undo would restore", .separateRegistry, .serialized)
    struct CleanUpListTests {
        private func runs(
            _ app: NightApp, _ query: String = "", by credential: RegistryApp.Credential = .role(.admin)
        ) async throws -> HTTPResponse {
            let key = app.registry.text(of: credential)
            return try await app.registry.registry.send("GET", "/v1/cleanup/runs\(query)", key: key)
        }

        @Test func runs_ofAnApp_areThoseThatLookedAtIt_withItsNumbers() async throws {
            let app = try await NightApp.make()
            for name in ["a", "b", "c"] { try await app.register(name) }
            try await app.age("a", by: "70 days")
            let skipped = try await app.cleanUp(["--app", app.registry.id, "--max-share", "10%"])
            #expect(skipped.status == 3)
            let done = try await app.cleanUp(["--app", app.registry.id, "--max-share", "50%"])
            #expect(done.status == 0)
            let response = try await runs(app)
            #expect(response.status == 200, "\(response.text)")
            let (newest, first) = (response.json["runs"][0], response.json["runs"][1])
            #expect(response.json["runs"].array.count == 2 && response.json["next"] == nil)
            #expect(newest["run"] == done.report["run"] && newest["outcome"] == "done" && newest["undoes"] == nil)
            #expect(newest["finishedAt"].string != nil && newest["maxShare"] == 0.5 && newest["appCount"] == 1)
            let result = newest["apps"][0]
            #expect(result["app"].string == app.registry.id && result["refused"] == false)
            #expect(result["active"] == 3 && result["leaving"] == 1 && result["counts"]["stale"] == 1)
            #expect(result["restorable"] == 1 && result["restored"] == 0)
            #expect(first["run"] == skipped.report["run"] && first["outcome"] == "refused" && first["maxShare"] == 0.1)
            #expect(first["apps"][0]["refused"] == true && first["apps"][0]["restorable"] == 0)
            // What concerns all apps is for the operator.
            #expect(newest.object.keys.allSatisfy { !["scope", "tombstones"].contains($0) })
        }

        @Test func undo_isARun_afterWhichNothingIsLeftToRestore() async throws {
            let app = try await NightApp.make()
            for name in ["a", "b"] { try await app.register(name) }
            try await app.age("a", by: "70 days")
            let done = try await app.cleanUp(["--app", app.registry.id, "--max-share", "100%"])
            let number = try #require(done.report["run"].integer)
            #expect(try await app.run(["cleanup", "undo", "\(number)", "--json"]).status == 0)
            let (undo, undone) = (try await runs(app).json["runs"][0], try await runs(app).json["runs"][1])
            #expect(undo["undoes"] == .integer(number) && undo["apps"][0]["restored"] == 1)
            #expect(undone["run"] == .integer(number) && undone["apps"][0]["restorable"] == 0)
        }

        @Test func pages_continueBehindTheirLastRun() async throws {
            let app = try await NightApp.make()
            try await app.register("a")
            for _ in 1...3 { try await app.cleanUp(["--app", app.registry.id]) }
            let all = try await runs(app).json["runs"].array.compactMap { $0["run"].integer }
            #expect(all.count == 3 && all == all.sorted(by: >))
            let first = try await runs(app, "?limit=2").json
            #expect(first["runs"].array.compactMap { $0["run"].integer } == Array(all.prefix(2)))
            let next = try #require(first["next"].string)
            let second = try await runs(app, "?limit=2&after=\(next)").json
            #expect(second["runs"].array.compactMap { $0["run"].integer } == [all[2]] && second["next"] == nil)
            for query in ["?limit=0", "?limit=101", "?after=x", "?after=0", "?surplus=1"] {
                #expect(try await runs(app, query).status == 400, "\(query)")
            }
        }

        @Test func runs_areForAdmins() async throws {
            let app = try await NightApp.make()
            try await app.register("a")
            try await app.cleanUp(["--app", app.registry.id])
            for role in RegistryApp.Role.allCases where role != .admin {
                #expect(try await runs(app, by: .role(role)).status == 403, "\(role)")
            }
            #expect(try await runs(app, by: .none).status == 401)
            let all = try await runs(app, "?limit=100", by: .text(RunningService.adminKey)).json["runs"].array
            let own = try #require(all.first { $0["apps"][0]["app"].string == app.registry.id })
            #expect(own["scope"] == [.string(app.registry.id)] && own["tombstones"].integer != nil)
            let other = try await NightApp.make()
            #expect(try await runs(other).json == ["runs": [], "next": nil])
        }
    }
}
