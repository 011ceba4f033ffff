import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("If-Match protects a client against its own delayed requests (R8)")
    struct PreconditionTests {
        @Test func put_passes_whenOneOfTheListIsTheCurrentOne() async throws {
            let app = try await RegistryApp.make()
            let etag = try await app.put("phone")["ETag"] ?? ""
            #expect(try await app.put("phone", as: "bob", ifMatch: "\"1\", ,\(etag) \t,\"2\",").status == 200)
        }

        @Test func put_isA412WithTheCurrentGeneration_whenItIsOutdated() async throws {
            let app = try await RegistryApp.make()
            let old = try await app.put("phone", as: "alice")["ETag"] ?? ""
            let present = try await app.put("phone", as: "bob")
            for user in ["alice", "bob"] {
                let response = try await app.put("phone", as: user, ifMatch: old)
                #expect(response.status == 412)
                #expect(response.code == "outdated")
                #expect(response.generation == present.generation)
                #expect(response["ETag"] == present["ETag"])
            }
            #expect(try await app.get("phone").json["userId"] == "bob")
        }

        @Test func star_passes_whenInstallationExists() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            #expect(try await app.put("phone", ifMatch: "*").json["status"] == "unchanged")
            #expect(try await app.put("phone", as: "alice", ifMatch: "*").json["status"] == "updated")
        }

        @Test func ifMatch_isA400_whenItCannotBeParsed() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            for tag in [
                "7", "\"seven\"", "\"\"", "\"7", "\"-7\"", "W/7", "W/\"7", "w/\"7\"", "", ",", "*, \"7\"",
            ] {
                for response in [
                    try await app.put("phone", ifMatch: tag), try await app.delete("phone", ifMatch: tag),
                ] {
                    #expect(response.status == 400 && response.code == "invalid-header", "\(tag)")
                    #expect(response.faults == ["If-Match invalid-header"])
                }
            }
            #expect(try await app.get("phone").status == 200)
        }

        /// RFC 9110, section 13.1.1: the comparison is the strong one.
        @Test func weakTag_isA412_whateverItsNumber() async throws {
            let app = try await RegistryApp.make()
            let etag = try await app.put("phone")["ETag"] ?? ""
            let responses = [
                try await app.put("phone", ifMatch: "W/\(etag)"), try await app.delete("phone", ifMatch: "W/\(etag)"),
                try await app.put("phone", ifMatch: "\"1\", W/\(etag)"),
            ]
            for response in responses { #expect(response.status == 412 && response["ETag"] == etag) }
            #expect(try await app.put("phone", ifMatch: "W/\(etag), \(etag)").status == 200)
        }

        @Test func onlyOnePut_passes_when16RaceWithTheSameGeneration() async throws {
            let app = try await RegistryApp.make()
            let etag = try await app.put("phone")["ETag"] ?? ""
            let statuses = try await race(16) { try await app.put("phone", as: "user-\($0)", ifMatch: etag).status }
            #expect(statuses.count { $0 == 200 } == 1)
            #expect(statuses.count { $0 == 412 } == 15)
        }
    }
}
