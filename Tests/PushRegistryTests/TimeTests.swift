import Foundation
import PushRegistry
import Testing

@Suite("Links of time zones are resolved, except the names in zone.tab")
struct TimeZoneLinksTests {
    private let links = TimeZoneLinks(
        zones: """
            # version 2025b
            R E 1977 1980 - Ap Su>=1 1u 1 S
            Z Asia/Kolkata 5:53:28 - LMT 1854
            5:30 - IST
            Z Europe/Berlin 0:53:28 - LMT 1893 Ap
            L Asia/Kolkata Asia/Calcutta
            L Europe/Berlin Europe/Oslo
            L Europe/Oslo Atlantic/Jan_Mayen
            L Atlantic/Jan_Mayen Old/Mayen
            L Old/One Old/Two
            L Old/Two Old/One
            """,
        table: """
            #codes\tcoordinates\tTZ\tcomments
            DE\t+5230+01322\tEurope/Berlin\tmost of Germany
            IN\t+2232+08822\tAsia/Kolkata
            NO\t+5955+01045\tEurope/Oslo
            """)

    @Test(arguments: [
        ("Asia/Calcutta", "Asia/Kolkata"), ("Asia/Kolkata", "Asia/Kolkata"), ("Europe/Oslo", "Europe/Oslo"),
        ("Atlantic/Jan_Mayen", "Europe/Oslo"), ("Old/Mayen", "Europe/Oslo"), ("Mars/Olympus", "Mars/Olympus"),
        ("asia/calcutta", "asia/calcutta"), ("", ""),
    ])
    func name_isResolved_throughAllLinks(sent: String, kept: String) {
        #expect(links.resolve(sent) == kept)
    }

    @Test func name_isKnown_whenTZDataHasIt() {
        #expect(["Asia/Calcutta", "Asia/Kolkata", "Europe/Oslo", "Old/Mayen"].allSatisfy(links.isKnown))
        #expect(!links.isKnown("Mars/Olympus") && !links.isKnown("R") && !links.isKnown("E"))
    }

    @Test func resolution_ends_whenLinksFormACycle() {
        #expect(["Old/One", "Old/Two"].contains(links.resolve("Old/One")))
    }

    @Test func system_resolvesItsOwnLinks() throws {
        let links = try TimeZoneLinks()
        #expect(links.resolve("Asia/Calcutta") == "Asia/Kolkata")
        #expect(links.resolve("US/Pacific") == "America/Los_Angeles")
        #expect(links.resolve("Europe/Kiev") == "Europe/Kyiv")
        #expect(links.resolve("Europe/Oslo") == "Europe/Oslo")
        #expect(links.resolve("Europe/Berlin") == "Europe/Berlin")
        #expect(!["localtime", "posixrules", "Factory"].contains(where: links.isKnown))
        #expect(links.isKnown("UTC") && links.isKnown(links.resolve("UTC")) && !links.isKnown("Europe/Atlantis"))
        // U+212A is K in another spelling, and PostgreSQL does not know this name.
        let other = "Europe/\u{212A}iev"
        #expect(!links.isKnown(other) && links.resolve(other) == other)
    }

    @Test func reading_fails_whenThereIsNoData() {
        #expect(throws: (any Error).self) { try TimeZoneLinks(directory: "/nowhere") }
    }
}

@Suite("Times are RFC 3339 in UTC with microseconds")
struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1_795_226_584_123_456, "2026-11-21T02:03:04.123456Z"),
            (1_795_226_584_120_000, "2026-11-21T02:03:04.120Z"), (1_795_226_584_000_001, "2026-11-21T02:03:04.000001Z"),
            (-1, "1969-12-31T23:59:59.999999Z"), (951_782_400_000_000, "2000-02-29T00:00:00Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"), (-62_135_596_800_000_000, "0001-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func time_survivesARoundTrip(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
        #expect(Timestamp(text) == Timestamp(microseconds: microseconds))
    }

    @Test(arguments: [
        ("2026-11-21T03:03:04+01:00", "2026-11-21T02:03:04Z"), ("2026-11-20T20:33:04-05:30", "2026-11-21T02:03:04Z"),
        ("2026-11-21t02:03:04z", "2026-11-21T02:03:04Z"), ("2026-11-21T02:03:04.5Z", "2026-11-21T02:03:04.500Z"),
        ("2026-11-21T02:03:04.1234569Z", "2026-11-21T02:03:04.123456Z"),
        ("2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00Z"),
    ])
    func time_isParsed_inEveryNotation(sent: String, kept: String) {
        #expect(Timestamp(sent)?.description == kept)
    }

    @Test(arguments: [
        "", "2026-11-21", "2026-11-21T02:03:04", "2026-11-21 02:03:04Z", "2026-11-21T02:03Z", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z",
        "2026-11-21T24:00:00Z", "2026-11-21T02:60:04Z", "2026-11-21T23:59:60Z", "2026-11-21T02:03:04.Z",
        "2026-11-21T02:03:04+0100", "2026-11-21T02:03:04+24:00", "2026-11-21T02:03:04+01:60", "2026-11-21T02:03:04Zx",
        "0000-01-01T00:00:00Z", "26-11-21T02:03:04Z", "+2026-11-21T02:03:04Z", "２026-11-21T02:03:04Z",
    ])
    func time_isRefused_whenTextIsInvalid(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test("Since the Gregorian calendar: Foundation uses the Julian one for earlier days")
    func time_agreesWithFoundation_throughoutTheCenturies() {
        for day in stride(from: Int64(-140_000), to: 2_900_000, by: 997) {
            let seconds = day * 86_400 + day & 0xFFFF
            let style = Date.ISO8601FormatStyle()
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            #expect(Timestamp(seconds: seconds)?.description == date.formatted(style))
        }
    }

    @Test func time_isRefused_outsideOfFourDigitYears() {
        #expect(Timestamp(milliseconds: 1_795_226_584_123)?.description == "2026-11-21T02:03:04.123Z")
        #expect(Timestamp(milliseconds: .max) == nil && Timestamp(milliseconds: .min) == nil)
        #expect(Timestamp(seconds: 253_402_300_800) == nil && Timestamp(seconds: .min) == nil)
        #expect(Timestamp("0001-01-01T00:00:00+00:01") == nil && Timestamp("9999-12-31T23:59:59-00:01") == nil)
    }

    @Test func now_isTheSystemTime() {
        let difference = Double(Timestamp.now().microseconds) / 1_000_000 - Date.now.timeIntervalSince1970
        #expect(abs(difference) < 60)
    }

    @Test func sums_saturate_onOverflow() {
        let time = Timestamp(microseconds: 10_000_000)
        #expect(time.advanced(by: .hours(1)) == Timestamp(seconds: 3610))
        #expect(time.preceding(by: .hours(1)) == Timestamp(seconds: -3590))
        #expect(Timestamp(microseconds: .max).advanced(by: .days(1)).microseconds == .max)
        #expect(Timestamp(microseconds: .min).preceding(by: .days(1)).microseconds == .min)
    }
}

@Suite("Durations consist of weeks to seconds")
struct DurationTests {
    @Test(
        arguments: [
            ("P30D", 2_592_000, "P30D"), ("PT24H", 86_400, "P1D"), ("P7DT1H30M", 610_200, "P7DT1H30M"),
            ("P2W", 1_209_600, "P14D"),
            ("PT0S", 0, "PT0S"), ("P0D", 0, "PT0S"), ("PT90S", 90, "PT1M30S"), ("P1W1DT1S", 691_201, "P8DT1S"),
            ("PT36H", 129_600, "P1DT12H"),
        ] as [(String, Int64, String)])
    func duration_isParsed_andWrittenCanonically(sent: String, seconds: Int64, kept: String) throws {
        let duration = try ISO8601Duration(sent)
        #expect(duration.seconds == seconds)
        #expect(duration.description == kept)
        #expect(try ISO8601Duration(kept) == duration)
    }

    @Test(arguments: [
        "", "P", "PT", "P1DT", "30D", "p30d", "P1Y", "P1M", "P1Y2D", "PT1D", "P1H", "P-1D", "-P1D", "P1.5D", "PT1,5H",
        "P1D2W",
        "PT1S1M", "P1D1D", "P 1D", "P1D ", "PT1H T1M", "P١D",
    ])
    func duration_isRefused_whenTextIsInvalid(text: String) {
        let reason = #expect(throws: InvalidValue.self) { try ISO8601Duration(text) }
        #expect(reason?.code == "invalid-duration")
    }

    @Test(arguments: ["P365251D", "P99999999999999999999D", "PT9223372036854775807S", "P9223372036854775807W"])
    func duration_isOutOfRange_beyondAThousandYears(text: String) {
        let reason = #expect(throws: InvalidValue.self) { try ISO8601Duration(text) }
        #expect(reason?.code == "out-of-range")
    }
}

@Suite("A session of the console ends when it is idle, and at the latest after twelve hours")
struct ConsoleSessionTests {
    private let start = Timestamp(microseconds: 1_795_262_400_000_000)

    private func after(_ minutes: Int64) -> Timestamp { start.advanced(by: ISO8601Duration(seconds: minutes * 60)) }

    @Test func session_isAlive_forHalfAnHourSinceItsUse() {
        let session = ConsoleSession(.key("k"), at: start)
        #expect(session.isAlive(at: start) && session.isAlive(at: after(29)))
        #expect(!session.isAlive(at: after(30)) && session.idleUntil == after(30))
        let used = ConsoleSession(.key("k"), createdAt: start, lastUsedAt: after(29))
        #expect(used.isAlive(at: after(58)) && !used.isAlive(at: after(59)))
    }

    @Test func session_ends_afterTwelveHours_howeverOftenItIsUsed() {
        let session = ConsoleSession(.key("k"), createdAt: start, lastUsedAt: after(12 * 60 - 1))
        #expect(session.expiresAt == after(12 * 60) && session.idleUntil == session.expiresAt)
        #expect(session.isAlive(at: after(12 * 60 - 1)) && !session.isAlive(at: after(12 * 60)))
    }

    @Test func use_isRecorded_onceAMinute() {
        let session = ConsoleSession(.key("k"), at: start)
        #expect(!session.needsRecord(ofUseAt: start) && session.needsRecord(ofUseAt: after(1)))
    }
}
