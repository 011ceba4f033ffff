import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A count shows some of its installations by their opaque ids")
    struct AudienceSampleTests {
        @Test func sample_isTheBeginningOfMarketingsExport() async throws {
            let app = try await RegistryApp.make()
            for number in 1...5 { _ = try await app.put("phone-\(number)") }
            let export = try await app.send(
                "POST", "/audience/export", ["filter": [:], "fields": ["id"]], by: .role(.marketing))
            let ids = try export.text.split(separator: "\n").map { try JSON(parsing: $0.utf8)["id"] }
            for role in [RegistryApp.Role.marketing, .sender] {
                let body: JSON = ["filter": [:], "sample": 3]
                let count = try await app.send("POST", "/audience/count", body, by: .role(role)).json
                #expect(count["count"] == 5 && count["sample"] == .array(Array(ids.prefix(3))))
            }
            let all: JSON = ["filter": [:], "sample": 20]
            #expect(
                try await app.send("POST", "/audience/count", all, by: .role(.marketing)).json["sample"] == .array(ids))
            let nobody: JSON = ["filter": ["locale": "tlh"], "sample": 1]
            #expect(try await app.send("POST", "/audience/count", nobody, by: .role(.marketing)).json["sample"] == [])
            let none = try await app.send("POST", "/audience/count", ["filter": [:]], by: .role(.marketing))
            #expect(none.json.object["sample"] == nil)
        }

        @Test(arguments: [0, 21, -1, "1", nil, 1.5] as [JSON])
        func otherNumbers_areRefused(sample: JSON) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.send(
                "POST", "/audience/count", ["filter": [:], "sample": sample], by: .role(.marketing))
            #expect(response.status == 400 && response.faults.first?.hasPrefix("/sample ") == true, "\(response.text)")
        }
    }
}
