import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A registration makes an installation active, whatever its state (R10)")
    struct ComebackTests {
        @Test(arguments: ["loggedOut", "superseded", "unregistered", "suspect", "stale"])
        func put_makesActive_whenStateIs(state: String) async throws {
            let app = try await RegistryApp.make()
            let first = try await app.put("phone", as: "alice")
            try await app.update(
                "phone",
                """
                state = \(sql: .init(literal: state)), generation = generation + 1,
                token = CASE \(sql: .init(literal: state)) WHEN 'superseded' THEN NULL ELSE token END,
                token_sha256 = CASE \(sql: .init(literal: state)) WHEN 'superseded' THEN NULL ELSE token_sha256 END
                """)
            #expect(try await app.get("phone").json["reachable"] == false)
            let response = try await app.put("phone", as: "alice")
            #expect(response.status == 200)
            #expect(response.json["status"] == "updated")
            #expect(response.json["state"] == "active")
            #expect(response.generation == first.generation.map { $0 + 2 })
            #expect(try await app.get("phone").json["reachable"] == true)
            let event = try #require(try await app.events(of: "phone").last)
            #expect([event.event, event.reason, event.state] == ["reactivated", "comeback", "active"])
        }

        @Test func generation_isLargerThanAllBefore_whenInstallationWasDeleted() async throws {
            let app = try await RegistryApp.make()
            var highest: Int64 = 0
            for round in 1...5 {
                for user in ["alice", "bob"] {
                    let generation = try #require(try await app.put("phone", as: user).generation)
                    #expect(generation > highest, "round \(round)")
                    highest = generation
                }
                #expect(try await app.delete("phone").status == 204)
            }
            let generations = try await app.events(of: "phone").map(\.generationAfter)
            #expect(Set(generations).count == generations.count)
            #expect(generations == generations.sorted())
        }
    }
}
