import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Notes report what the caller may have overlooked (fine print 37)")
    struct AudienceNoteTests {
        private func notes(_ call: String, _ body: JSON, of app: RegistryApp) async throws -> [String] {
            let response = try await app.ask(call, body)
            #expect(response.status == 200, "\(response.text)")
            return Self.lines(response)
        }

        /// `location code`, and the nearest value.
        private static func lines(_ response: HTTPResponse) -> [String] {
            response.json["notes"].array.map { note in
                let location = note["pointer"].string ?? note["parameter"].string ?? "?"
                let nearest = note["detail"].string?.firstMatch(of: /Did you mean (.*)\?/).map { " \($0.1)" } ?? ""
                return "\(location) \(note["code"].string ?? "?")\(nearest)"
            }
        }

        @Test func authorization_isNoted_unlessTheRequestHasInclude() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put(
                "denied",
                SampleRegistration.make("denied", settings: SampleRegistration.settings(authorizationStatus: "denied")))
            let filter: JSON = ["any": [["not": ["authorizationStatus": ["in": ["denied"]]]], ["carrier": "x"]]]
            let note = "/filter/any/0/not/authorizationStatus excluded-by-reachable"
            #expect(try await notes("count", ["filter": filter], of: app) == [note])
            #expect(try await notes("breakdown", ["filter": filter, "by": ["locale"]], of: app) == [note])
            #expect(
                try await notes("count", ["filter": ["authorizationStatus": "denied"]], of: app)
                    == ["/filter/authorizationStatus excluded-by-reachable"])
            for include in ["reachable", "active", "all"] {
                #expect(try await notes("count", ["filter": filter, "include": .string(include)], of: app) == [])
            }
            #expect(try await notes("count", ["filter": [:]], of: app) == [])
            let groups: JSON = ["filter": [:], "by": ["locale", "authorizationStatus"]]
            #expect(try await notes("breakdown", groups, of: app) == ["/by/1 excluded-by-reachable"])
            for (query, expected) in [
                ("authorizationStatus=denied", ["authorizationStatus excluded-by-reachable"]),
                ("authorizationStatus.ne=denied", ["authorizationStatus.ne excluded-by-reachable"]),
                ("authorizationStatus=denied&include=all", []),
            ] {
                let response = try await app.send("GET", "/audience/count?\(query)", by: .role(.marketing))
                #expect(Self.lines(response) == expected, "\(response.text)")
            }
        }

        @Test func value_isNoted_whenNoInstallationHasIt() async throws {
            let app = try await RegistryApp.make()
            try await app.register([("a", [:]), ("b", ["locale": "zh_Hans_CN", "systemVersion": "17.2"])])
            let unknown: [(filter: JSON, notes: [String])] = [
                (["locale": "de_DF"], ["/filter/locale unknown-value de_DE"]),
                (["timeZone": "Europe/Berln"], ["/filter/timeZone unknown-value Europe/Berlin"]),
                (["timeZone": "Berlin"], ["/filter/timeZone unknown-value Europe/Berlin"]),
                (["systemName": "ios"], ["/filter/systemName unknown-value iOS"]),
                (["osVersion": "17.3"], ["/filter/osVersion unknown-value 17.2"]),
                (["locale": "xx"], ["/filter/locale unknown-value"]),
                (["provider": "apnsSandbox"], ["/filter/provider unknown-value"]),
                (
                    ["provider": ["in": ["fcm", "apns"]], "carrier": "x"],
                    ["/filter/provider/in/0 unknown-value"]
                ),
                (["utcOffset": ["eq": -36_000]], ["/filter/utcOffset/eq unknown-value"]),
                (
                    ["any": [["authorizationStatus": "denied"], ["carrier": "x"]]],
                    [
                        "/filter/any/0/authorizationStatus excluded-by-reachable",
                        "/filter/any/0/authorizationStatus unknown-value",
                    ]
                ),
                (
                    ["all": [["locale": ["nin": ["de_DE", "de_DX"]]], ["locale": ["ne": "de_DX"]]]],
                    ["/filter/all/0/locale/nin/1 unknown-value de_DE"]
                ),
            ]
            for (filter, expected) in unknown {
                #expect(try await notes("count", ["filter": filter], of: app) == expected)
                #expect(try await notes("breakdown", ["filter": filter, "by": ["provider"]], of: app) == expected)
            }
            let known: [JSON] = [
                ["locale": ["de", "de_DE", "zh", "zh_Hans"]], ["osVersion": ["17.2.0", "26.5"]],
                ["osVersion": ["gt": "99"]],
                ["timeZone": "Europe/Berlin"], ["carrier": "nobody's"], ["provider": "apns"], ["utcOffset": ["gt": 0]],
            ]
            for filter in known { #expect(try await notes("count", ["filter": filter], of: app) == [], "\(filter)") }
            let query = try await app.send("GET", "/audience/count?locale.in=de,de_DF", by: .role(.marketing))
            #expect(Self.lines(query) == ["locale.in unknown-value de_DE"], "\(query.text)")
            #expect(query.json["count"] == 1)
        }

        /// The values of other apps must not be visible.
        @Test func nearestValue_isOfTheSameApp() async throws {
            let other = try await RegistryApp.make()
            try await other.register([("a", ["locale": "tlh_KX"])])
            let app = try await RegistryApp.make()
            #expect(
                try await notes("count", ["filter": ["locale": "tlh_KX"]], of: app) == ["/filter/locale unknown-value"])
        }

        @Test func valuesOfSegments_areNotedAtTheWholeFilter() async throws {
            let app = try await RegistryApp.make()
            let put = try await app.send(
                "PUT", "/segments/odd", ["filter": ["locale": "xx", "authorizationStatus": "denied"]],
                by: .role(.marketing))
            #expect(put.status == 201, "\(put.text)")
            #expect(
                try await notes("count", ["filter": ["segment": "odd"]], of: app)
                    == ["/filter excluded-by-reachable", "/filter unknown-value", "/filter unknown-value"])
            let query = try await app.send("GET", "/audience/count?segment=odd", by: .role(.marketing))
            #expect(
                Self.lines(query)
                    == ["segment excluded-by-reachable", "segment unknown-value", "segment unknown-value"])
        }

        @Test func notes_areAtMostTen_whenManyValuesAreUnknown() async throws {
            let app = try await RegistryApp.make()
            let values = (0..<500).map { JSON.string("x\($0)") }
            let notes = try await notes("count", ["filter": ["systemName": .array(values)]], of: app)
            #expect(notes == (0..<10).map { "/filter/systemName/\($0) unknown-value" })
        }
    }
}
