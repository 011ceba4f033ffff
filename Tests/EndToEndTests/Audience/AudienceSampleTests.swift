import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A count shows some of its installations by their opaque ids")
    struct AudienceSampleTests {
        @Test func sample_isTheBeginningOfMarketingsExport() async throws {
            let app = try await RegistryApp.make()
            for number in 1...5 { _ = try await app.put("phone-\(number)") }
            let ids = try await app.export(["filter": [:]], by: .role(.marketing)).map { $0["id"] }
            for role in [RegistryApp.Role.marketing, .sender] {
                let count = try await app.ask("count", ["filter": [:], "sample": 3], by: .role(role)).json
                #expect(count["count"] == 5 && count["sample"] == .array(Array(ids.prefix(3))))
            }
            #expect(try await app.ask("count", ["filter": [:], "sample": 20]).json["sample"] == .array(ids))
            let nobody: JSON = ["filter": ["locale": "tlh"], "sample": 1]
            #expect(try await app.ask("count", nobody).json["sample"] == [])
            #expect(try await app.ask("count", ["filter": [:]]).json.object["sample"] == nil)
        }

        @Test(arguments: [0, 21, -1, "1", nil, 1.5] as [JSON])
        func otherNumbers_areRefused(sample: JSON) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.ask("count", ["filter": [:], "sample": sample], by: .role(.marketing))
            #expect(response.status == 400 && response.faults.first?.hasPrefix("/sample ") == true, "\(response.text)")
        }
    }
}
