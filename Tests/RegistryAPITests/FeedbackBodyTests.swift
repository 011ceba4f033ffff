import PushRegistry
import StrictJSON
import Testing

@testable import RegistryAPI

@Suite("Feedback is parsed item by item, and an invalid item affects no other (fine print 21, 25)")
struct FeedbackBodyTests {
    private static let good = #"{"token":"AAAAAAAAAAAAAAAA","reason":"Unregistered"}"#

    @Test func item_hasEveryValue_whenAllAreSent() async throws {
        let body = try FeedbackBody.read(
            #"[{"token":"t","provider":"fcm","installId":"i","reason":"UNREGISTERED","#
                + #""timestamp":1795325400000,"generation":7}]"#
        )
        let item = try #require(body.items.first)
        #expect(item.installID?.rawValue == "i" && item.provider == .fcm && item.addresses.map(\.provider) == [.fcm])
        #expect(
            item.reason == "UNREGISTERED" && item.at == Timestamp(milliseconds: 1_795_325_400_000)
                && item.generation == 7)
    }

    @Test func provider_isApns_unlessAnInstallationIsNamed() async throws {
        let body = try FeedbackBody.read(
            #"[\#(Self.good),{"installId":"i","reason":"x"},{"installId":"i","token":"aaaaaaaaaaaaaaaa","reason":"x"}]"#
        )
        #expect(body.items.map(\.provider) == [.apns, nil, nil])
        #expect(body.items[0].addresses.count == 1 && body.items[1].addresses.isEmpty)
        #expect(body.items[2].addresses.map(\.provider) == [.apns, .apnsSandbox, .fcm, .huawei])
    }

    @Test func kind_namesTypedTokens_ofEitherEnvironment() async throws {
        let body = try FeedbackBody.read(
            #"[{"token":"AAAAAAAAAAAAAAAA","kind":"voip","reason":"x"},"#
                + #"{"installId":"i","kind":"liveActivity","name":"n","reason":"x"},"#
                + #"{"token":"AAAAAAAAAAAAAAAA","kind":"widget","provider":"apnsSandbox","reason":"x"}]"#)
        #expect(body.items.map(\.kind) == [.voip, .liveActivity, .widget])
        #expect(body.items.map(\.name) == [nil, "n", nil])
        #expect(body.items.map(\.namesProvider) == [false, false, true])
        #expect(body.items.map { $0.addresses.map(\.provider) } == [[.apns], [], [.apnsSandbox]])
    }

    @Test(arguments: [("410", "410"), ("410.0", "410"), ("4.1e2", "410"), (#""410""#, "410"), ("1.5", "1.5")])
    func reason_isTheSame_asNumberOrString(sent: String, reason: String) async throws {
        let body = try FeedbackBody.read(#"[{"installId":"i","reason":\#(sent)}]"#)
        #expect(body.items.map(\.reason) == [reason])
    }

    @Test(arguments: [
        (#"{"reason":"x"}"#, "/token"), (#"{"token":"zz","reason":"x"}"#, "/token"),
        (#"{"token":"aaaaaaaaaaaaaaaa"}"#, "/reason"), (#"{"installId":"","reason":"x"}"#, "/installId"),
        (#"{"installId":"i","reason":true}"#, "/reason"),
        (#"{"installId":"i","reason":"x","provider":"sms"}"#, "/provider"),
        (#"{"installId":"i","reason":"x","timestamp":"yesterday"}"#, "/timestamp"),
        (#"{"installId":"i","reason":"x","generation":-1}"#, "/generation"), ("7", ""),
        (#"{"installId":"i","reason":"x","reason":"y"}"#, "/reason"),
        (#"{"installId":"i","reason":"\ud800"}"#, "/reason"),
        (#"{"installId":"i","reason":"x","kind":"pigeon"}"#, "/kind"),
        (#"{"installId":"i","reason":"x","kind":7}"#, "/kind"),
        (#"{"installId":"i","reason":"x","name":"n"}"#, "/name"),
        (#"{"installId":"i","reason":"x","kind":"voip","name":"-"}"#, "/name"),
    ])
    func invalidItem_isReportedByItsIndex(item: String, pointer: String) async throws {
        for text in ["[\(Self.good),\(item),\(Self.good)]", "\(Self.good)\n\(item)\r\n\n\(Self.good)\n"] {
            let body = try FeedbackBody.read(text)
            #expect(body.items.count == 2 && body.invalid == 1)
            #expect(body.errors.allSatisfy { $0.index == 1 } && body.errors.map(\.fault.pointer).contains(pointer))
        }
    }

    @Test(arguments: [
        ("1795325400", false), ("1795325400000", true), (#""2014-12-31T23:59:59Z""#, false),
        (#""2015-01-01T00:00:00Z""#, true), (#""2026-11-23T06:30:00Z""#, true), (#""2026-11-23T06:30:01Z""#, false),
        (#""2060-01-01T00:00:00Z""#, false),
    ])
    func item_isInvalid_whenItsTimeIsImplausible(timestamp: String, isPlausible: Bool) async throws {
        let body = try FeedbackBody.read(#"[{"installId":"i","reason":"x","timestamp":\#(timestamp)}]"#)
        #expect(body.items.count == (isPlausible ? 1 : 0))
        #expect(body.errors.map(\.fault.pointer) == (isPlausible ? [] : ["/timestamp"]))
        #expect(body.errors.allSatisfy { $0.fault.detail.contains("milliseconds") })
    }

    @Test(arguments: ["[]", "{}", "true", #""soon""#, "1.5"]) func faultOfATime_isReportedOnce(time: String) throws {
        let body = try FeedbackBody.read(#"[{"installId":"i","reason":"x","timestamp":\#(time)}]"#)
        #expect(body.errors.map(\.fault.pointer) == ["/timestamp"], "\(body.errors)")
    }

    @Test func form_followsTheContentType() async throws {
        #expect(throws: JSONFaults.self) { _ = try FeedbackBody.read(Self.good, as: .array) }
        #expect(try FeedbackBody.read("[\(Self.good)]", as: .array).items.count == 1)
        #expect(try FeedbackBody.read("\(Self.good)\n\(Self.good)", as: .lines).items.count == 2)
        #expect(try FeedbackBody.read("[\(Self.good)]", as: .lines).invalid == 1)
    }

    @Test func line_isInvalidAlone_whenItIsNotJSON() async throws {
        let body = try FeedbackBody.read("\(Self.good)\n{oops\n\(Self.good)")
        #expect(body.items.count == 2 && body.errors.map(\.index) == [1])
    }

    @Test func faults_areListedUpToAHundred_andAllCounted() async throws {
        let items = Array(repeating: "{}", count: 150).joined(separator: ",")
        let body = try FeedbackBody.read("[\(items)]")
        #expect(body.invalid == 150 && body.errors.count == 100)
    }

    @Test(arguments: ["", "  ", "7", #""text""#, "{\n\"token\":\"x\"}", "[", "[{}", "hello", "null"])
    func body_isRefused_whenItIsNeitherArrayNorLines(text: String) async throws {
        #expect(throws: JSONFaults.self) { _ = try FeedbackBody.read(text) }
    }

    @Test func body_isTooLarge_beyondTenThousandItems() async throws {
        let items = Array(repeating: Self.good, count: FeedbackBody.itemsMax)
        #expect(
            try FeedbackBody.read("[" + items.joined(separator: ",") + "]").items.count == FeedbackBody.itemsMax)
        for text in [
            "[" + (items + [Self.good]).joined(separator: ",") + "]", (items + [Self.good]).joined(separator: "\n"),
        ] {
            #expect(throws: APIError.self) { _ = try FeedbackBody.read(text) }
        }
    }
}

@Suite("An invalid body of feedback is parsed once, like a valid one")
struct FeedbackCostTests {
    private static let items = [
        #"{"token":"AAAAAAAAAAAAAAAA","reason":"Unregistered"}"#, #"{"installId":"i","reason":410}"#,
        #"{"reason":"x"}"#, #"{"token":"zz","reason":"x","generation":-1,"timestamp":"yesterday"}"#, "7", "null", "[]",
        #"["\u0000",{"a":1,"a":2}]"#,
        #"{ "installId" : "i" , "reason" : "x" , "reason" : true , "\ud800" : "\u0000" }"#,
        #"{"installId":"i","reason":"x","timestamp":1795325400}"#, #"{"installId":"i","reason":"x","provider":"sms"}"#,
        #"{"installId":"i","reason":"x","extra":{"a/b":[{"~":"\udc00"}]}}"#, #""\ud800""#,
        #"{"installId":"i","reason":"\#(String(repeating: "r", count: 5_000))"}"#,
    ]
    /// More faults than are listed.
    private static let faulty = "{" + Array(repeating: #""a":"\u0000""#, count: 70).joined(separator: ",") + "}"

    @Test(arguments: [ListForm.array, .lines]) func everyItemIsReadOnce_whenAnyOrAllAreInvalid(form: ListForm) throws {
        for (valid, invalid) in [(100, 0), (100, 1), (0, 100), (5_000, 5_000)] {
            let items = Array(repeating: Self.items[0], count: valid) + Array(repeating: Self.faulty, count: invalid)
            var reads = 0
            let body = try FeedbackBody.parse(Array(Self.text(items, as: form).utf8), as: form) { value in
                reads += 1
                return FeedbackItem(value, of: AppNumber(1), receivedAt: FeedbackBody.receivedAt)
            }
            #expect(reads == valid + invalid)
            #expect(body.items.count == valid && body.invalid == invalid)
        }
    }

    @Test(arguments: 0..<20) func faultsAreThoseOfEachItemAlone(number: Int) throws {
        var items = (0..<100).map { Self.items[($0 * $0 * 7 + $0 / 3 + number) % Self.items.count] }
        // Late, so that the faults before it are listed as well.
        if number.isMultiple(of: 2) { items[20 + number] = Self.faulty }
        let expected = try Alone(items)
        for form in [ListForm.array, .lines] {
            let body = try FeedbackBody.read(Self.text(items, as: form), as: form)
            #expect(body.errors.map(\.index) == expected.faults.map(\.index))
            #expect(body.errors.map(\.fault) == expected.faults.map(\.fault))
            #expect(body.items.map(\.reason) == expected.reasons)
            #expect(body.invalid == items.count - expected.reasons.count)
        }
    }

    @Test(arguments: ["", " ", "]", "[}", "[1,]", "[,1]", "[1 2]", "[1]]", "[1", "[{}\u{0}]", "[1] x", #"["\u0000""#])
    func faultIsThatOfTheWholeText_whenItIsNotJSON(text: String) throws {
        let expected = try #require(throws: JSONFaults.self) { _ = try JSONDocument(Array(text.utf8)) }
        #expect(throws: expected) { _ = try FeedbackBody.read(text, as: .array) }
    }

    @Test func textIsRefusedAsMalformed_beforeItsItemsAreTooMany() {
        let items = Array(repeating: "1", count: FeedbackBody.itemsMax + 1).joined(separator: ",")
        #expect(throws: JSONFaults.self) { _ = try FeedbackBody.read("[\(items)", as: .array) }
        #expect(throws: APIError.self) { _ = try FeedbackBody.read("[\(items)]", as: .array) }
    }

    private static func text(_ items: [String], as form: ListForm) -> String {
        switch form {
        case .array: " [ " + items.joined(separator: " ,\n") + " ] "
        case .lines: items.joined(separator: "\n")
        }
    }

    /// The results of items that are each read as a text of its own.
    private struct Alone {
        var reasons: [String] = []
        var faults: [(index: Int, fault: JSONFault)] = []

        init(_ items: [String]) throws {
            for (index, text) in items.enumerated() {
                let document = try JSONDocument(Array(text.utf8))
                let item = FeedbackItem(document.root, of: AppNumber(1), receivedAt: FeedbackBody.receivedAt)
                if document.faults.isEmpty, let item { reasons.append(item.reason) }
                faults += document.faults.map { (index, $0) }
            }
            faults = Array(faults.prefix(FeedbackBody.faultsMax))
        }
    }
}

extension FeedbackBody {
    /// 2026-11-22T06:30:00Z.
    fileprivate static let receivedAt = Timestamp(milliseconds: 1_795_329_000_000)!

    fileprivate static func read(_ text: String, as form: ListForm? = nil) throws -> FeedbackBody {
        try parse(Array(text.utf8), as: form, app: AppNumber(1), receivedAt: receivedAt)
    }
}
