import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Segments are saved filters, and never contain themselves (fine print 41)")
    struct SegmentTests {
        private func put(
            _ name: String, _ filter: JSON, in app: RegistryApp, by role: RegistryApp.Role = .marketing
        ) async throws -> HTTPResponse {
            try await app.send("PUT", "/segments/\(name)", ["filter": filter], by: .role(role))
        }

        @Test func segment_isSavedReadListedAndDeleted() async throws {
            let app = try await RegistryApp.make()
            let body: JSON = ["filter": ["locale": ["de", "fr"]], "description": "the neighbours"]
            let made = try await app.send("PUT", "/segments/near.by", body, by: .role(.marketing))
            #expect(
                made.status == 201 && made.json["name"] == "near.by" && made.json["description"] == "the neighbours")
            #expect(try await app.send("PUT", "/segments/near.by", body, by: .role(.marketing)).status == 200)
            _ = try await put("a", [:], in: app)
            let read = try await app.send("GET", "/segments/near.by", by: .role(.sender))
            #expect(read.json["filter"] == ["locale": ["de", "fr"]] && read.json["updatedAt"].string != nil)
            let list = try await app.send("GET", "/segments?limit=1", by: .role(.sender)).json
            #expect(list["segments"].array.map { $0["name"] } == ["a"] && list["next"] == "a")
            let rest = try await app.send("GET", "/segments?after=a", by: .role(.sender)).json
            #expect(rest["segments"].array.map { $0["name"] } == ["near.by"] && rest["next"] == .null)
            #expect(try await app.send("DELETE", "/segments/near.by", by: .role(.marketing)).status == 204)
            #expect(try await app.send("DELETE", "/segments/near.by", by: .role(.marketing)).status == 204)
            #expect(try await app.send("GET", "/segments/near.by", by: .role(.sender)).code == "unknown-segment")
            let unnameable = try await app.send("DELETE", "/segments/near%20by", by: .role(.marketing))
            #expect(unnameable.status == 400 && unnameable.faults == ["name invalid-segment-name"])
        }

        @Test func response_isOfItsOwnCall_whenOthersSaveAndDeleteTheSegment() async throws {
            let app = try await RegistryApp.make()
            for _ in 1...10 {
                let responses = try await race(12) { number in
                    let body: JSON = ["filter": [:], "description": .string("\(number)")]
                    let (method, sent) = number == 0 ? ("DELETE", nil) : ("PUT", body)
                    return (number, try await app.send(method, "/segments/s", sent, by: .role(.marketing)))
                }
                for (number, response) in responses {
                    #expect((number == 0 ? [204] : [200, 201]).contains(response.status), "\(response.text)")
                    #expect(number == 0 || response.json["description"].string == "\(number)")
                }
            }
        }

        @Test func segment_canBeUsed_whereverAFilterCan() async throws {
            let app = try await RegistryApp.make()
            try await app.register([("a", ["locale": "de_DE"]), ("b", ["locale": "fr_FR"]), ("c", ["locale": "en"])])
            _ = try await put("german", ["locale": "de"], in: app)
            _ = try await put("near", ["any": [["segment": "german"], ["locale": "fr"]]], in: app)
            #expect(try await app.count(["segment": "near"]) == 2)
            #expect(try await app.count(["not": ["segment": "near"]]) == 1)
            #expect(try await app.count(["segment": "near", "locale": "fr"]) == 1)
            let query = try await app.send("GET", "/audience/count?segment=near&segment=german", by: .role(.marketing))
            #expect(query.json["count"] == 1)
            _ = try await put("german", ["locale": ["de", "en"]], in: app)
            #expect(try await app.count(["segment": "near"]) == 3)
            let unknown = try await app.ask("count", ["filter": ["any": [["segment": "near"], ["segment": "far"]]]])
            #expect(unknown.status == 400 && unknown.faults == ["/filter/any/1/segment unknown-segment"])
        }

        @Test func cycle_isRefused_ofAnyLength() async throws {
            let app = try await RegistryApp.make()
            let own = try await put("a", ["segment": "a"], in: app)
            #expect(own.status == 400 && own.code == "segment-cycle")
            _ = try await put("a", [:], in: app)
            _ = try await put("b", ["segment": "a"], in: app)
            _ = try await put("c", ["not": ["segment": "b"]], in: app)
            let response = try await put("a", ["any": [["locale": "de"], ["segment": "c"]]], in: app)
            #expect(response.status == 400 && response.code == "segment-cycle")
            #expect(response.faults == ["/filter/any/1/segment segment-cycle"])
            #expect(try await put("x", ["segment": "none"], in: app).faults == ["/filter/segment unknown-segment"])
        }

        /// Each change alone would be valid.
        @Test func concurrentSegments_thatNameEachOther_areNotBothSaved() async throws {
            let app = try await RegistryApp.make()
            for round in 0..<5 {
                let names = ["x\(round)", "y\(round)"]
                for name in names { _ = try await put(name, [:], in: app) }
                let statuses = try await race(2) { side in
                    try await put(names[side], ["segment": .string(names[1 - side])], in: app).status
                }
                #expect(statuses.sorted() == [200, 400])
            }
        }

        @Test func segment_isNotDeleted_whenAnotherNamesIt() async throws {
            let app = try await RegistryApp.make()
            _ = try await put("a", [:], in: app)
            _ = try await put("b", ["segment": "a"], in: app)
            let response = try await app.send("DELETE", "/segments/a", by: .role(.marketing))
            #expect(response.status == 409 && response.code == "segment-in-use")
            _ = try await put("b", [:], in: app)
            #expect(try await app.send("DELETE", "/segments/a", by: .role(.marketing)).status == 204)
        }

        @Test func segments_belongToOneApp() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            _ = try await put("a", [:], in: app)
            #expect(try await other.send("GET", "/segments/a", by: .role(.marketing)).status == 404)
            #expect(try await other.ask("count", ["filter": ["segment": "a"]]).status == 400)
        }

        @Test(arguments: [
            ("a%20b", #"{"filter":{}}"#, "name invalid-segment-name"), ("a", "{}", "/filter required"),
            ("a", #"{"filter":{},"descripton":"x"}"#, "/descripton unknown-member"),
            ("a", #"{"filter":{"locale":null}}"#, "/filter/locale null"),
            ("a", #"{"filter":{"gt":1},"description":5}"#, "/filter/gt unknown-member,/description wrong-type"),
        ])
        func put_isRefused_whenItIsInvalid(name: String, body: String, faults: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.registry.client.response(
                to: HTTPRequest(
                    "PUT", app.path + "/segments/\(name)",
                    fields: [("Authorization", "Bearer \(app.key(.marketing))"), ("Content-Type", "application/json")],
                    body: Array(body.utf8)))
            #expect(response.status == 400 && response.faults.joined(separator: ",") == faults, "\(response.text)")
        }

        @Test func waves_containEachZoneOnce() async throws {
            let app = try await RegistryApp.make()
            try await app.register([
                ("a", [:]), ("b", ["timeZoneId": "Asia/Kolkata"]),
                ("c", ["timeZoneId": "Mars/Olympus", "timeZoneOffset": -3600]),
            ])
            let response = try await app.ask("waves", ["filter": [:], "localTime": "10:00", "date": "2026-11-22"]).json
            #expect(response["total"] == 3 && response["asOf"].string != nil)
            #expect(
                response["waves"] == [
                    ["at": "2026-11-22T04:30:00Z", "count": 1, "timeZones": ["Asia/Kolkata"]],
                    ["at": "2026-11-22T09:00:00Z", "count": 1, "timeZones": ["Europe/Berlin"]],
                    ["at": "2026-11-22T11:00:00Z", "count": 1, "timeZones": ["Mars/Olympus"]],
                ])
            let bad = try await app.ask("waves", ["filter": [:], "localTime": "24:00", "date": "2026-02-30"])
            #expect(bad.faults == ["/localTime out-of-range", "/date invalid-date"])
            #expect(try await app.ask("waves", ["filter": [:]]).faults == ["/localTime required", "/date required"])
        }
    }
}
