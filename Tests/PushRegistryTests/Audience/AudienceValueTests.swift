import PushRegistry
import Testing

@Suite("Values of filters are valid by construction")
struct AudienceValueTests {
    @Test(arguments: [("00:00", 0), ("09:30", 34_200), ("23:59:59", 86_399), ("24:00", 86_400)])
    func localTime_isSecondsFromMidnight(text: String, seconds: Int) throws {
        #expect(try LocalTime(text).seconds == seconds)
    }

    @Test(arguments: [
        "", "9:00", "09", "24:01", "25:00", "09:60", "09:00:60", "09:00:00:00", "0９:00", "-1:00", "09:00 ",
    ])
    func localTime_isRefused_whenItIsInvalid(text: String) {
        #expect(throws: InvalidValue.self) { try LocalTime(text) }
    }

    @Test(arguments: ["2026-02-29", "2026-11-31", "2026-1-01", "20261101", "2026-11-01T", "0000-01-01", ""])
    func day_isRefused_whenItDoesNotExist(text: String) {
        #expect(throws: InvalidValue.self) { try CalendarDay(text) }
    }

    @Test func day_isKept_asWritten() throws {
        #expect(try CalendarDay("2028-02-29").description == "2028-02-29")
    }

    @Test func circle_hasARadius() {
        #expect(Circle(latitude: 0, longitude: 0, radiusKm: 0) == nil)
        #expect(Circle(latitude: 0, longitude: 0, radiusKm: .nan) == nil)
    }

    @Test func segmentName_has1To128AllowedCharacters() {
        #expect(throws: Never.self) { try SegmentName("a.B_9-" + String(repeating: "x", count: 122)) }
        for text in ["", String(repeating: "x", count: 129), "a b", "a/b", "ä"] {
            #expect(throws: InvalidValue.self) { try SegmentName(text) }
        }
    }
}
