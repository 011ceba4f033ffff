import Basics
import PushRegistry
import StrictJSON
import Testing

@testable import RegistryAPI

@Suite("A filter is parsed, and every fault has its pointer (fine print 28 to 35)")
struct FilterReaderTests {
    private let links = TimeZoneLinks(zones: "Z Asia/Kolkata\nL Asia/Kolkata Asia/Calcutta", table: "")

    private func read(_ filter: String) throws -> AudienceFilter {
        try body(#"{"filter":\#(filter)}"#).filter.simplified
    }

    private func body(_ text: String) throws -> AudienceBody<Void> {
        try AudienceBody.parse(Array(text.utf8), in: FilterVocabulary(links: links), members: ["explain"]) { _ in () }
    }

    private func faults(_ text: String) -> [String] {
        do {
            _ = try body(text)
            return []
        } catch {
            return (error as? JSONFaults)?.faults.map { "\($0.pointer) \($0.code.rawValue)" } ?? ["\(error)"]
        }
    }

    private func faults(of filter: String) -> [String] { faults(#"{"filter":\#(filter)}"#) }

    private func version(_ text: String) throws -> AudienceValue { .version(try #require(Version(text))) }

    @Test func operators_becomePredicates_inEveryNotation() throws {
        let text = AudienceFilter.condition(.carrier, .oneOf([.text("A")]))
        let list = AudienceFilter.condition(.carrier, .oneOf([.text("A"), .text("")]))
        #expect(try read(#"{"carrier":"A"}"#) == text)
        #expect(try read(#"{"carrier":{"eq":"A"}}"#) == text)
        #expect(try read(#"{"carrier":{"ne":"A"}}"#) == .not(text))
        #expect(try read(#"{"carrier":["A",""]}"#) == list)
        #expect(try read(#"{"carrier":{"in":["A",""]}}"#) == list)
        #expect(try read(#"{"carrier":{"nin":["A",""]}}"#) == .not(list))
        #expect(try read(#"{"carrier":{"exists":true}}"#) == .condition(.carrier, .exists))
        #expect(try read(#"{"carrier":{"exists":false}}"#) == .not(.condition(.carrier, .exists)))
        for (name, order) in [
            ("gt", AudienceOrder.greater), ("gte", .greaterOrEqual), ("lt", .less), ("lte", .lessOrEqual),
        ] {
            let expected = AudienceFilter.condition(.osVersion, .ordered(order, try version("17.2")))
            #expect(try read(#"{"osVersion":{"\#(name)":"17.2"}}"#) == expected)
        }
    }

    @Test func values_areCanonical_likeStoredOnes() throws {
        #expect(try read(#"{"locale":"de-de"}"#) == .condition(.locale, .oneOf([.locale(LocaleIdentifier("de_DE"))])))
        #expect(try read(#"{"timeZone":"Asia/Calcutta"}"#) == .condition(.timeZone, .oneOf([.text("Asia/Kolkata")])))
        #expect(try read(#"{"osVersion":"17.0"}"#) == .condition(.osVersion, .oneOf([try version("17")])))
        #expect(try read(#"{"utcOffset":3600.0}"#) == .condition(.utcOffset, .oneOf([.offset(3600)])))
        #expect(
            try read(#"{"providesAppNotificationSettings":false}"#)
                == .condition(.providesAppNotificationSettings, .oneOf([.flag(false)])))
        let time = try #require(Timestamp("2026-11-21T02:00:00Z"))
        #expect(
            try read(#"{"createdAt":{"lt":"2026-11-21T03:00:00+01:00"}}"#)
                == .condition(.createdAt, .ordered(.less, .time(time))))
        #expect(try read(#"{"lastSeenAt":{"within":"P2W"}}"#) == .condition(.lastSeenAt, .within(.days(14))))
    }

    @Test func constants_areSimplified() throws {
        #expect(try read("{}") == .everybody)
        #expect(try read(#"{"all":[]}"#) == .everybody)
        #expect(try read(#"{"any":[]}"#) == .nobody)
        #expect(try read(#"{"carrier":[]}"#) == .nobody)
        #expect(try read(#"{"carrier":{"nin":[]}}"#) == .everybody)
        #expect(try read(#"{"not":{}}"#) == .nobody)
        #expect(try read(#"{"any":[{},{"carrier":"A"}]}"#) == .everybody)
    }

    @Test func membersAndOperators_areCombinedByAnd() throws {
        let filter = try read(
            #"{"osVersion":{"gte":"17","lt":"18"},"any":[{"locale":"de"},{"not":{"segment":"a.b"}}],"#
                + #""userId":{"exists":true}}"#
        )
        let segment = SegmentReference(name: try SegmentName("a.b"), pointer: "/filter/any/1/not/segment")
        #expect(
            filter
                == .all([
                    .all([
                        .condition(.osVersion, .ordered(.greaterOrEqual, try version("17"))),
                        .condition(.osVersion, .ordered(.less, try version("18"))),
                    ]),
                    .any([
                        .condition(.locale, .oneOf([.locale(LocaleIdentifier("de"))])), .not(.segment(segment)),
                    ]),
                    .condition(.userID, .exists),
                ]))
    }

    @Test func localTime_wrapsOverMidnight_andEndsAt24() throws {
        guard
            case .condition(.localTime, .between(let range)) = try read(#"{"localTime":{"between":["22:00","06:30"]}}"#)
        else { return #expect(Bool(false)) }
        #expect(range.contains(79_200) && range.contains(0) && range.contains(23_399))
        #expect(!range.contains(23_400) && !range.contains(79_199))
        #expect(throws: Never.self) { try read(#"{"localTime":{"between":["00:00","24:00"]}}"#) }
    }

    @Test(arguments: [
        (#"{"osVersion":{"gte":"x"}}"#, "/filter/osVersion/gte invalid-version"),
        (#"{"osVersion":17}"#, "/filter/osVersion wrong-type"),
        (#"{"utcOffset":"3600"}"#, "/filter/utcOffset wrong-type"),
        (#"{"utcOffset":1.5}"#, "/filter/utcOffset not-an-integer"),
        (#"{"utcOffset":99999}"#, "/filter/utcOffset out-of-range"),
        (#"{"carrier":{}}"#, "/filter/carrier empty-condition"),
        (#"{"carrier":{"gt":"A"}}"#, "/filter/carrier/gt operator-not-allowed"),
        (#"{"carrier":{"exists":1}}"#, "/filter/carrier/exists wrong-type"),
        (#"{"carrier":null}"#, "/filter/carrier null"),
        (#"{"carrier":["A",null]}"#, "/filter/carrier/1 null"),
        (#"{"carrier":{"in":"A"}}"#, "/filter/carrier/in wrong-type"),
        (#"{"carrier":{"like":"A"}}"#, "/filter/carrier/like unknown-member"),
        (#"{"carrier":"A","carrier":"B"}"#, "/filter/carrier duplicate-member"),
        (#"{"tokn":"A"}"#, "/filter/tokn unknown-member"),
        (#"{"include":"all"}"#, "/filter/include unknown-member"),
        (#"{"soundSetting":"loud"}"#, "/filter/soundSetting unknown-value"),
        (#"{"provider":["apns","x"]}"#, "/filter/provider/1 unknown-value"),
        (#"{"userId":"alice"}"#, "/filter/userId operator-not-allowed"),
        (#"{"localTime":"09:00"}"#, "/filter/localTime operator-not-allowed"),
        (#"{"localTime":{"exists":true}}"#, "/filter/localTime/exists operator-not-allowed"),
        (#"{"localTime":{"between":["09:00","09:00"]}}"#, "/filter/localTime/between invalid-local-time"),
        (#"{"localTime":{"between":["24:00","09:00"]}}"#, "/filter/localTime/between invalid-local-time"),
        (#"{"localTime":{"between":["9:00","10:00"]}}"#, "/filter/localTime/between/0 invalid-local-time"),
        (#"{"localTime":{"between":["09:00"]}}"#, "/filter/localTime/between required"),
        (#"{"localTime":{"between":["09:00","10:00","11:00"]}}"#, "/filter/localTime/between too-many"),
        (#"{"lastSeenAt":{"within":"P1M"}}"#, "/filter/lastSeenAt/within invalid-duration"),
        (#"{"lastSeenAt":{"gt":"2026-11-21T03:00:00"}}"#, "/filter/lastSeenAt/gt invalid-time"),
        (#"{"location":{"near":{"latitude":1,"longitude":2}}}"#, "/filter/location/near/radiusKm required"),
        (
            #"{"location":{"near":{"latitude":1,"longitude":2,"radiusKm":0}}}"#,
            "/filter/location/near/radiusKm out-of-range"
        ),
        (
            #"{"location":{"near":{"latitude":91,"longitude":2,"radiusKm":1}}}"#,
            "/filter/location/near/latitude out-of-range"
        ),
        (
            #"{"location":{"near":{"latitude":1,"longitude":2,"radiusKm":20039}}}"#,
            "/filter/location/near/radiusKm out-of-range"
        ),
        (
            #"{"location":{"near":{"latitude":1,"longitude":2,"radiusKm":1,"km":1}}}"#,
            "/filter/location/near/km unknown-member"
        ),
        (#"{"segment":"two words"}"#, "/filter/segment invalid-segment-name"),
        (#"{"all":{}}"#, "/filter/all wrong-type"),
        (#"{"any":["x"]}"#, "/filter/any/0 wrong-type"),
        (#"{"not":[]}"#, "/filter/not wrong-type"),
        (#"[]"#, "/filter wrong-type"),
        (#"null"#, "/filter null"),
    ])
    func fault_hasItsPointer(filter: String, fault: String) {
        #expect(faults(of: filter) == [fault])
    }

    @Test func allFaults_areListed() {
        #expect(
            faults(#"{"filter":{"any":[{"locale":"de"},{"osVersion":{"gte":"x"},"foo":1}]},"include":"some","limt":1}"#)
                == [
                    "/limt unknown-member", "/filter/any/1/osVersion/gte invalid-version",
                    "/filter/any/1/foo unknown-member",
                    "/include unknown-value",
                ])
        #expect(faults("{}") == ["/filter required"])
        #expect(faults("[]") == [" wrong-type"])
    }

    @Test func depth8_passes_and9DoesNot() {
        func nested(_ depth: Int) -> String {
            depth == 1 ? #"{"carrier":"A"}"# : #"{"all":[\#(nested(depth - 1))]}"#
        }
        #expect(faults(of: nested(8)) == [])
        #expect(faults(of: nested(9)) == ["/filter" + String(repeating: "/all/0", count: 8) + " too-deep"])
    }

    @Test func values1000_pass_and1001DoNot() {
        func wide(_ count: Int) -> String {
            let texts = (0..<count - 1).map { #""\#($0)""# }.joined(separator: ",")
            return #"{"carrier":"A","not":{"region":[\#(texts)]}}"#
        }
        #expect(faults(of: wide(1_000)) == [])
        #expect(faults(of: wide(1_001)) == ["/filter too-wide"])
    }
}
