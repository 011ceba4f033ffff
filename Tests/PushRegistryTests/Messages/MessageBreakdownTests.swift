import PushRegistry
import Testing

@Suite("Small groups are hidden, and no subtraction finds them (fine print 100)")
struct MessageBreakdownTests {
    private static func group(_ name: String, targeted: Int64, delivered: Int64 = 0) -> MessageBreakdown.Group {
        var counts = MessageCounts()
        (counts.targeted, counts.delivered) = (targeted, delivered)
        return MessageBreakdown.Group(values: [name], counts: counts)
    }

    private static let groups = [
        group("de", targeted: 50, delivered: 40), group("en", targeted: 20), group("fr", targeted: 5),
        group("it", targeted: 3, delivered: 2), group("pl", targeted: 1),
    ]

    private func shown(
        _ groups: [MessageBreakdown.Group] = Self.groups, limit: Int = 100, smallest: Int
    ) -> (names: [String?], rest: Int, targeted: Int64) {
        let breakdown = MessageBreakdown(
            asOf: Timestamp(microseconds: 0), groups, limit: limit, smallestGroup: smallest)
        return (breakdown.groups.map { $0.values[0] }, breakdown.restGroups, breakdown.rest.targeted)
    }

    @Test func everyGroup_isShown_byDefault() {
        #expect(shown(smallest: 1) == (["de", "en", "fr", "it", "pl"], 0, 0))
    }

    @Test func smallGroups_arePartOfTheRest() {
        #expect(shown(smallest: 5) == (["de", "en", "fr"], 2, 4))
        #expect(shown(smallest: 100) == ([], 5, 79))
    }

    @Test func singleSmallGroup_isHiddenTogetherWithTheNextOne() {
        #expect(shown(smallest: 3) == (["de", "en", "fr"], 2, 4))
        #expect(shown(smallest: 2) == (["de", "en", "fr"], 2, 4))
    }

    @Test func spellings_areGroups() {
        let groups = [Self.group("caf\u{E9}", targeted: 2), Self.group("cafe\u{301}", targeted: 2)]
        #expect(shown(groups, limit: 1, smallest: 1) == (["caf\u{E9}"], 1, 2))
        #expect(shown(groups, smallest: 3) == ([], 2, 4))
    }

    @Test func limit_hidesOneGroup_whenNoneIsSmall() {
        #expect(shown(limit: 4, smallest: 1) == (["de", "en", "fr", "it"], 1, 1))
        #expect(shown(limit: 4, smallest: 2) == (["de", "en", "fr"], 2, 4))
    }

    @Test func onlyGroup_isHidden_whenItIsSmall() {
        #expect(shown([Self.group("de", targeted: 1)], smallest: 2) == ([], 1, 1))
    }

    /// Eleven Germans, one of them on an old system: the tables by one field and by two must not tell who opened.
    @Test func group_isHidden_whenTheRestOfACoarserOneIsSmall() {
        var german = (0..<10).map { _ in ["de", "26.0"] }
        german.append(["de", "17.0"])
        let french = (0..<6).map { _ in ["fr", "26.0"] } + (0..<7).map { _ in ["fr", "18.0"] }
        #expect(Self.visible(german + french, by: [0], smallest: 5) == [["fr"]: 13, ["de"]: 11])
        #expect(Self.visible(german + french, by: [1], smallest: 5) == [["26.0"]: 16])
        #expect(Self.visible(german + french, by: [0, 1], smallest: 5) == [["fr", "26.0"]: 6])
    }

    /// The table of some fields, as marketing sees it.
    private static func visible(
        _ installations: [[String]], by fields: [Int], smallest: Int
    ) -> [[String?]: Int64] {
        let sizes = Dictionary(grouping: installations) { values in fields.map { values[$0] as String? } }
        let groups = sizes.map { values, members in
            var counts = MessageCounts()
            counts.targeted = Int64(members.count)
            return MessageBreakdown.Group(values: values, counts: counts)
        }
        let shown = MessageBreakdown(
            asOf: Timestamp(microseconds: 0), groups.sorted { $0.counts.targeted > $1.counts.targeted }, limit: 1_000,
            smallestGroup: smallest)
        return Dictionary(uniqueKeysWithValues: shown.groups.map { ($0.values, $0.counts.targeted) })
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func noSubtractionOfTables_leavesASmallGroup(seed: UInt64) {
        var state = seed
        func dice(_ sides: UInt64) -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) % sides
        }
        let smallest = 2 + Int(dice(6))
        let installations = (0..<120).map { _ in
            [3, 4, 5].map { (size: UInt64) in "v\(min(dice(size), dice(size)))" }
        }
        let sets = [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
        let tables = Dictionary(
            uniqueKeysWithValues: sets.map { ($0, Self.visible(installations, by: $0, smallest: smallest)) })
        for fine in sets {
            let all = Set(installations.map { values in fine.map { values[$0] } }).count
            #expect(all == 1 || all - tables[fine, default: [:]].count != 1, "\(fine)")
            for coarse in sets where coarse != fine && Set(coarse).isSubset(of: fine) {
                let places = coarse.compactMap { fine.firstIndex(of: $0) }
                let parents = tables[coarse, default: [:]]
                let sums = tables[fine, default: [:]].reduce(into: [[String?]: Int64]()) { sums, group in
                    sums[places.map { group.key[$0] }, default: 0] += group.value
                }
                #expect(Set(sums.keys).isSubset(of: parents.keys), "a group within a hidden one is shown")
                for (parent, count) in parents {
                    let left = count - sums[parent, default: 0]
                    #expect(left == 0 || left >= smallest, "\(coarse) less \(fine) leaves \(left)")
                }
            }
        }
    }

    @Test func groupsAndRest_addUpToAll() {
        for smallest in 1...60 {
            for limit in 1...6 {
                let breakdown = MessageBreakdown(
                    asOf: Timestamp(microseconds: 0), Self.groups, limit: limit, smallestGroup: smallest)
                let total = breakdown.groups.reduce(into: breakdown.rest) { $0 += $1.counts }
                #expect(total.targeted == 79 && total.delivered == 42)
                #expect(breakdown.groups.count + breakdown.restGroups == 5)
            }
        }
    }
}

@Suite("A timeline has a bucket for every interval from the beginning to the end (fine print 99)")
struct TimelineBucketsTests {
    private static func message(at text: String, expiresIn: ISO8601Duration = .days(7)) throws -> Message {
        let time = try #require(Timestamp(text))
        return Message(
            number: MessageNumber(createdAt: time), name: try MessageName("m"),
            content: MessageContent(expiresIn: expiresIn), createdAt: time)
    }

    private func buckets(
        _ message: Message, _ interval: String, now: String
    ) throws -> (start: String, count: Int) {
        let buckets = try TimelineBuckets(
            of: message, every: try ISO8601Duration(interval), now: try #require(Timestamp(now)))
        return (buckets.start.description, buckets.count)
    }

    @Test func buckets_areAlignedToUTC_andEndNow() throws {
        let message = try Self.message(at: "2026-11-22T09:47:12Z")
        #expect(try buckets(message, "PT1H", now: "2026-11-22T09:47:12Z") == ("2026-11-22T09:00:00Z", 1))
        #expect(try buckets(message, "PT1H", now: "2026-11-22T12:00:00Z") == ("2026-11-22T09:00:00Z", 3))
        #expect(try buckets(message, "PT1H", now: "2026-11-22T12:00:01Z") == ("2026-11-22T09:00:00Z", 4))
        #expect(try buckets(message, "P1D", now: "2026-11-24T00:00:01Z") == ("2026-11-22T00:00:00Z", 3))
        #expect(try buckets(message, "PT1M", now: "2026-11-22T09:49:00Z") == ("2026-11-22T09:47:00Z", 2))
    }

    @Test func buckets_endWithTheMessage() throws {
        let message = try Self.message(at: "2026-11-22T09:00:00Z", expiresIn: .hours(2))
        #expect(try buckets(message, "PT1H", now: "2026-12-24T00:00:00Z").count == 2)
    }

    @Test(arguments: ["PT30S", "PT0S", "P2D", "PT90S", "PT1M1S"])
    func interval_isRefused_whenItIsNotWholeMinutesOfADay(interval: String) throws {
        let message = try Self.message(at: "2026-11-22T09:00:00Z")
        #expect(throws: InvalidValue.self) { try buckets(message, interval, now: "2026-11-22T10:00:00Z") }
    }

    @Test func moreThanAThousandBuckets_areRefused() throws {
        let message = try Self.message(at: "2026-11-22T00:00:00Z", expiresIn: .days(30))
        #expect(try buckets(message, "PT1M", now: "2026-11-22T16:40:00Z").count == 1_000)
        #expect(throws: InvalidValue.self) { try buckets(message, "PT1M", now: "2026-11-22T16:40:01Z") }
    }

    @Test func bucket_ofATime_isItsInterval() throws {
        let buckets = try TimelineBuckets(
            of: try Self.message(at: "2026-11-22T09:30:00Z"), every: .hours(1),
            now: try #require(Timestamp("2026-11-22T13:00:00Z")))
        for (text, bucket) in [("08:00", 0), ("09:59", 0), ("10:00", 1), ("12:59", 3), ("23:00", 3)] {
            #expect(buckets.bucket(of: try #require(Timestamp("2026-11-22T\(text):00Z"))) == bucket)
        }
    }
}

@Suite("The content of a receipt has 25 bytes")
struct ReceiptContentTests {
    @Test(arguments: [0, 1, -1, .max, .min, 1 << 48 + 3] as [Int64])
    func content_isReadBack(number: Int64) throws {
        for message: Int64 in [0, 179_534_000_000, MessageNumber.rawValueMax] {
            let content = ReceiptContent(
                message: MessageNumber(message), installation: InstallationHash(number), cell: number,
                expiresAt: Timestamp(microseconds: 1_795_339_800_000_000))
            var bytes: [UInt8] = []
            content.append(to: &bytes)
            #expect(bytes.count == ReceiptContent.bytesCount)
            #expect(ReceiptContent(bytes) == content)
        }
    }

    @Test func content_isNil_ofAnotherLength() {
        for count in [0, 24, 26] { #expect(ReceiptContent(repeatElement(1, count: count)) == nil) }
    }

    @Test func expiry_isRoundedUp_soThatNoReceiptEndsEarly() throws {
        var bytes: [UInt8] = []
        ReceiptContent(
            message: MessageNumber(1), installation: InstallationHash(1), cell: 1, expiresAt: Timestamp(microseconds: 1)
        ).append(to: &bytes)
        #expect(ReceiptContent(bytes)?.expiresAt == Timestamp(microseconds: 1_000_000))
    }

    @Test func messageNumber_isItsTime() throws {
        let time = try #require(Timestamp("2026-11-22T09:30:00.129Z"))
        #expect(MessageNumber(createdAt: time).time == Timestamp("2026-11-22T09:30:00.12Z"))
    }
}
