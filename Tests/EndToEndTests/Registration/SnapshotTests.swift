import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Every changed snapshot of an installation is kept")
    struct SnapshotTests {
        private func put(_ app: RegistryApp, sound: String) async throws {
            var body = SampleRegistration.make("phone")
            body["settings"]["soundSetting"] = .string(sound)
            let response = try await app.put("phone", body)
            #expect(response.status < 300)
        }

        private func sounds(_ page: HTTPResponse) -> [String?] {
            page.json["snapshots"].array.map { $0["settings"]["soundSetting"].string }
        }

        @Test func snapshots_areListedNewestFirst_whenSettingsChange() async throws {
            let app = try await RegistryApp.make()
            for sound in ["enabled", "disabled", "disabled", "notSupported", "enabled"] {
                try await put(app, sound: sound)
            }
            let page = try await app.send("GET", "/installations/phone/snapshots")
            #expect(page.status == 200)
            #expect(sounds(page) == ["enabled", "notSupported", "disabled", "enabled"])
            #expect(page.json["next"] == .null)
            let times = page.json["snapshots"].array.compactMap { $0["at"].string }
            #expect(times == times.sorted(by: >) && times.count == 4)
            #expect(page.json["snapshots"][0]["device"]["locale"] == "de_DE")
        }

        @Test func snapshots_doNotGrow_whenOnlyTheOwnerChanges() async throws {
            let app = try await RegistryApp.make()
            for user in ["alice", "bob"] { _ = try await app.put("phone", as: user) }
            #expect(sounds(try await app.send("GET", "/installations/phone/snapshots")).count == 1)
        }

        @Test func pages_coverEverythingOnce_whenTheyAreFollowed() async throws {
            let app = try await RegistryApp.make()
            for number in 0..<5 { try await put(app, sound: number.isMultiple(of: 2) ? "enabled" : "disabled") }
            var path = "/installations/phone/snapshots?limit=2"
            var pages: [[String?]] = []
            while pages.count < 9 {
                let page = try await app.send("GET", path)
                pages.append(sounds(page))
                guard let next = page.json["next"].string else { break }
                path = "/installations/phone/snapshots?limit=2&after=\(next)"
            }
            #expect(pages == [["enabled", "disabled"], ["enabled", "disabled"], ["enabled"]])
        }

        @Test(arguments: [
            ("limit=0", "limit out-of-range"), ("limit=1001", "limit out-of-range"), ("limit=x", "limit out-of-range"),
            ("after=x", "after invalid-cursor"), ("page=2", "page unknown-parameter"),
        ])
        func query_isA400_whenItIsInvalid(query: String, fault: String) async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone")
            let response = try await app.send("GET", "/installations/phone/snapshots?\(query)")
            #expect(response.status == 400)
            #expect(response.faults == [fault])
        }
    }
}
