import PushRegistry
import Testing

@Suite("The nearest name is suggested for a misspelt one")
struct NearestNameTests {
    private let names = ["touchInterval", "retention", "grace", "jwks", "apns", "eq", "in"]

    @Test(arguments: [
        ("touchIntervall", "touchInterval"), ("touchinterval", "touchInterval"), ("toucInterval", "touchInterval"),
        ("graec", "grace"), ("jwk", "jwks"), ("apn", "apns"), ("ni", "in"), ("retentoin", "retention"),
    ])
    func nearest_isFound(text: String, name: String) {
        #expect(NearestName.of(text, among: names) == name)
    }

    @Test func city_isFound_amongTimeZones() {
        let zones = ["America/New_York", "Europe/Berlin", "Europe/Vienna"]
        #expect(NearestName.of("berlin", among: zones) == "Europe/Berlin")
        #expect(NearestName.of("Rome", among: zones) == nil)
    }

    @Test(arguments: ["", "completely-different", "tokens", String(repeating: "x", count: 65)])
    func nothing_isFound_whenNoNameIsNear(text: String) {
        #expect(NearestName.of(text, among: names) == nil)
        #expect(NearestName.hint(for: text, among: names).hasPrefix("The names are: touchInterval, retention"))
    }
}
