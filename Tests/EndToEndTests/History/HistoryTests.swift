import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("History has every change of an installation and of a token (R12)")
    struct HistoryTests {
        @Test func history_isNewestFirst_andPaged() async throws {
            let app = try await RegistryApp.make()
            for user in ["a", "b", "c"] { _ = try await app.put("phone", as: user) }
            let first = try await app.send("GET", "/installations/phone/history?limit=2").json
            #expect(first["events"].array.map { $0["userId"] } == ["c", "b"])
            let next = try #require(first["next"].string)
            let second = try await app.send("GET", "/installations/phone/history?limit=2&after=\(next)").json
            #expect(second["events"].array.map { $0["userId"] } == ["a"] && second["next"] == .null)
        }

        @Test func page_isTheEnd_whenNothingOlderIsKept() async throws {
            let app = try await RegistryApp.make()
            for user in ["a", "b", "c"] { _ = try await app.put("phone", as: user) }
            let first = try await app.send("GET", "/installations/phone/history?limit=2").json
            let next = try #require(first["next"].string)
            _ = try await app.database.rows(
                """
                DELETE FROM token_event
                WHERE user_id IN ('a', 'b') AND app_id = (SELECT id FROM app WHERE identifier = \(app.id))
                """)
            let page = try await app.send("GET", "/installations/phone/history?limit=2&after=\(next)").json
            #expect(page == ["events": [], "next": .null])
        }

        @Test func deletedInstallation_stillHasItsHistory_anUnknownOneIsNotFound() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            _ = try await app.delete("phone")
            let events = try await app.send("GET", "/installations/phone/history").json["events"].array
            #expect(events.map { $0["event"] } == ["deleted", "registered"])
            #expect(try await app.send("GET", "/installations/nobody/history").code == "unknown-installation")
        }

        @Test func tokenHistory_namesEveryHolder_andAnUnknownTokenHasNone() async throws {
            let app = try await RegistryApp.make()
            let token = SampleRegistration.token("shared")
            _ = try await app.put("old", SampleRegistration.make("old", token: token), as: "alice")
            _ = try await app.put("new", SampleRegistration.make("new", token: token), as: "bob")
            let response = try await app.send(
                "POST", "/tokens/history", ["token": .string(token.uppercased()), "provider": "apns"])
            #expect(response.json["events"].array.map { $0["installId"] } == ["new", "old", "old"])
            #expect(!response.text.contains(token))
            let unknown = try await app.send("POST", "/tokens/history", ["token": "ffffffffffffffff"])
            #expect(unknown.json == ["events": [], "next": .null])
            let misspelt = try await app.send(
                "POST", "/tokens/history", ["token": .string(token), "providr": "fcm"])
            #expect(misspelt.status == 400 && misspelt.json["errors"][0]["pointer"] == "/providr")
        }

        /// The event of a rotation contains the new token, but belongs to the history of the old one, too.
        @Test func tokenHistory_showsTheRotation_toAnotherToken() async throws {
            let app = try await RegistryApp.make()
            let (old, new) = (SampleRegistration.token("old"), SampleRegistration.token("new"))
            for token in [old, new, old] {
                _ = try await app.put("phone", SampleRegistration.make("phone", token: token), as: "alice")
            }
            _ = try await app.put("other", SampleRegistration.make("other", token: new), as: "bob")
            _ = try await app.put("other", SampleRegistration.make("other", token: old), as: "bob")
            _ = try await app.put("phone", as: "alice")
            #expect(
                try await app.tokenHistory(old, limit: 100) == [
                    "other takenOver", "phone superseded", "phone rotated", "phone rotated", "phone registered",
                ])
            #expect(
                try await app.tokenHistory(new, limit: 100) == [
                    "other takenOver", "other registered", "phone rotated", "phone rotated",
                ])
            for limit in 1...3 {
                for token in [old, new] {
                    #expect(
                        try await app.tokenHistory(token, limit: limit) == app.tokenHistory(token, limit: 100))
                }
            }
        }

        /// A development build and one from the store may have the same token under two providers.
        @Test func changeOfProvider_isARotation_evenWithTheSameToken() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            _ = try await app.put("phone", SampleRegistration.make("phone", provider: "apnsSandbox"), as: "alice")
            let event = try #require(try await app.events(of: "phone").last)
            #expect(event.event == "rotated" && event.reason == "tokenChanged")
        }

        @Test func cursor_isRefused_whenItIsInvalidOrOfAnotherList() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for user in ["a", "b"] { _ = try await app.put("phone", as: user) }
            _ = try await other.put("phone")
            let first = try await app.send("GET", "/installations/phone/history?limit=1").json
            let cursor = try #require(first["next"].string)
            let elsewhere = "0123456789abcdef" + cursor.dropFirst(16)
            let token: JSON = ["token": .string(SampleRegistration.token("phone"))]
            for (method, path, body) in [
                ("GET", "/installations/phone/history", nil), ("POST", "/tokens/history", token),
            ] {
                #expect(try await app.send(method, path + "?after=nonsense", body).faults == ["after invalid-cursor"])
                #expect(
                    try await other.send(method, path + "?after=\(cursor)", body).faults == ["after invalid-cursor"])
                let gone = try await app.send(method, path + "?after=\(elsewhere)", body)
                #expect(gone.status == 410 && gone.code == "cursor-expired")
                #expect(try await app.send(method, path + "?after=\(cursor)", body).json["events"].array.count == 1)
            }
        }
    }
}

extension RegistryApp {
    /// The events of a token, newest first, read page by page.
    fileprivate func tokenHistory(_ token: String, limit: Int) async throws -> [String] {
        var (events, after): ([String], String?) = ([], "")
        while let cursor = after {
            let page = try await send(
                "POST", "/tokens/history?limit=\(limit)" + (cursor.isEmpty ? "" : "&after=\(cursor)"),
                ["token": .string(token)]
            ).json
            events += page["events"].array.map { "\($0["installId"].string ?? "") \($0["event"].string ?? "")" }
            after = page["next"].string
        }
        return events
    }
}
