import Glibc
import StrictJSON
import Testing

@Suite("Typed access returns the value, or adds a fault and continues")
struct AccessTests {
    @Test func access_returnsValues_whenTheyFit() throws {
        let document = try JSONDocument.make(
            #"{"s":"ä\n\u00e9\ud83d\ude00","i":-5,"d":52.52,"t":true,"o":{"x":[1,2]},"l":["a","b"],"n":null}"#)
        let root = try #require(document.root.object())
        #expect(root.string("s", .required, scalarsMax: 4) == "ä\né😀")
        #expect(root.integer("i", .required) == -5)
        #expect(root.double("d", in: -90...90) == 52.52)
        #expect(root.boolean("t") == true)
        #expect(root.string("n", scalarsMax: 1) == nil)
        #expect(root.string("absent", scalarsMax: 1) == nil)
        #expect(root.strings("l", elementsMax: 2, scalarsMax: 1) == ["a", "b"])
        let nested = try #require(root.object("o"))
        #expect(nested.array("x", elementsMax: 2)?.compactMap { $0.integer() } == [1, 2])
        #expect(document.faults.isEmpty)
    }

    @Test func access_listsEveryFault_whenNothingFits() throws {
        let document = try JSONDocument.make(
            #"{"s":1,"long":"abc","i":1.5,"big":99,"b":"x","d":91,"l":["a",1,"long"],"many":[1,2,3],"o":[],"n":null}"#)
        let root = try #require(document.root.object())
        _ = root.string("s", scalarsMax: 1)
        _ = root.string("long", scalarsMax: 2)
        _ = root.integer("i")
        _ = root.integer("big", in: 0...9)
        _ = root.boolean("b")
        _ = root.double("d", in: -90...90)
        #expect(root.strings("l", elementsMax: 3, scalarsMax: 2) == ["a"])
        _ = root.array("many", elementsMax: 2)
        _ = root.object("o")
        _ = root.string("n", .required, scalarsMax: 1)
        _ = root.value("absent", .required)
        root.refuse(member: "s", JSONFault.Code(rawValue: "odd"), "Odd.")
        #expect(
            document.listing == [
                "wrong-type /s", "too-long /long", "not-an-integer /i", "out-of-range /big", "wrong-type /b",
                "out-of-range /d", "wrong-type /l/1", "too-long /l/2", "too-many /many", "wrong-type /o",
                "required /n", "required /absent", "odd /s",
            ])
        #expect(throws: JSONFaults(document.faults)) { try document.check() }
    }

    @Test func access_findsMembers_inAnyOrder() throws {
        let document = try JSONDocument.make(#"{"a":1,"b":{"a":9},"\u0063":3,"d":4}"#)
        let root = try #require(document.root.object())
        for _ in 0..<2 {
            #expect(root.integer("d") == 4)
            #expect(root.integer("c") == 3)
            #expect(root.integer("a") == 1)
            #expect(root.integer("e") == nil)
        }
    }

    @Test func length_isCountedInUnicodeScalars() throws {
        let document = try JSONDocument.make(#"["👨‍👩‍👧", "😀😀😀"]"#)
        let values = try #require(document.root.array(elementsMax: 2)).map { $0 }
        #expect(values[0].string(scalarsMax: 5) != nil)
        #expect(values[0].string(scalarsMax: 4) == nil)
        #expect(values[1].string(scalarsMax: 3) == "😀😀😀")
    }

    @Test func unknownMembers_areRefused_onlyOnRequest() throws {
        let document = try JSONDocument.make(#"{"filter":{},"fliter":{},"x/y":1}"#)
        let root = try #require(document.root.object())
        #expect(document.faults.isEmpty)
        for (name, value) in root.members where name != "filter" { value.refuse(.unknownMember, "Unknown.") }
        #expect(document.listing == ["unknown-member /fliter", "unknown-member /x~1y"])
    }

    @Test func members_haveTheOrderOfTheText() throws {
        let document = try JSONDocument.make(#"{"b":1,"a":[{}],"\n":"x"}"#)
        let members = try #require(document.root.object()).members
        #expect(members.map(\.name) == ["b", "a", "\n"])
        #expect(members.map(\.value.kind) == [.number, .array, .string])
        #expect(members.map { String(decoding: $0.value.rawBytes, as: UTF8.self) } == ["1", "[{}]", "\"x\""])
    }

    @Test func pointer_isShortened_whenANameIsHuge() throws {
        let document = try JSONDocument.make("{\"\(String(repeating: "k", count: 10_000))\":1}")
        try #require(document.root.object()).members[0].value.refuse(.unknownMember, "Unknown.")
        #expect(document.faults[0].pointer.count < 200)
    }
}

@Suite("Integers are exact, whatever their notation")
struct IntegerTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min), ("3600.0", 3600),
            ("36e2", 3600), ("1.5e1", 15), ("1200e-2", 12), ("0e99999999999999999999", 0), ("0.0", 0),
            ("-1.0E+2", -100),
            ("9007199254740993", 9_007_199_254_740_993), ("9007199254740993.0", 9_007_199_254_740_993),
        ] as [(String, Int64)])
    func integer_isExact_whenTheNumberIsWhole(text: String, value: Int64) throws {
        #expect(try JSONDocument.make(text).root.integer() == value)
    }

    @Test(arguments: [
        ("9223372036854775808", "out-of-range "), ("-9223372036854775809", "out-of-range "), ("1e19", "out-of-range "),
        ("1e99999999999999999999", "out-of-range "), ("99999999999999999999999", "out-of-range "),
        ("1.5", "not-an-integer "), ("1.00000000000000000000000001", "not-an-integer "), ("1e-1", "not-an-integer "),
        ("1e-99999999999999999999", "not-an-integer "), ("9007199254740993.5", "not-an-integer "),
        ("\"1\"", "wrong-type "), ("true", "wrong-type "),
    ])
    func integer_isRefused_whenTheNumberIsNotAnInteger(text: String, fault: String) throws {
        let document = try JSONDocument.make(text)
        #expect(document.root.integer() == nil)
        #expect(document.listing == [fault])
    }

    @Test(arguments: ["1e400", "-1e400", "NaN"])
    func double_isRefused_whenItIsNotFinite(text: String) throws {
        guard let document = try? JSONDocument.make(text) else { return }
        #expect(document.root.double(in: -Double.infinity...Double.infinity) == nil)
        #expect(document.listing == ["out-of-range "])
    }
}

extension JSONDocument {
    /// A document of a text.
    static func make(_ text: String) throws -> JSONDocument {
        try JSONDocument(Array(text.utf8))
    }

    /// Codes and pointers of all faults.
    var listing: [String] {
        faults.map { "\($0.code.rawValue) \($0.pointer)" }
    }
}

@Suite("Faults cost no more than their text", .serialized)
struct FaultCostTests {
    /// 64 KiB of zeros followed by the most faults listed: each pointer needs the number of elements before it.
    private static let zeros = String(repeating: "0,", count: 32_000)
    private static let good = Array("[\(zeros)\(Array(repeating: "\"a\"", count: 100).joined(separator: ","))]".utf8)
    private static let bad = Array(
        "[\(zeros)\(Array(repeating: "\"\\u0000\"", count: 100).joined(separator: ","))]".utf8)

    @Test func pointersAreCreatedInOnePass() throws {
        let faults = try JSONDocument(Self.bad).faults
        #expect(faults.map(\.pointer) == (32_000..<32_100).map { "/\($0)" })
    }

    @Test func textWithAHundredFaults_costsAtMostTwiceAValidOne() throws {
        let costs = try (0..<9).map { _ in (good: try Self.cost(of: Self.good), bad: try Self.cost(of: Self.bad)) }
        // The minimum, because other work of the machine only adds time.
        let (good, bad) = (costs.map(\.good).min() ?? 0, costs.map(\.bad).min() ?? 0)
        #expect(bad < good * 2)
    }

    /// The CPU time of this thread, in nanoseconds.
    private static func cost(of text: [UInt8]) throws -> UInt64 {
        let start = threadTime()
        _ = try JSONDocument(text).faults.count
        return threadTime() - start
    }

    private static func threadTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    @Test func pointersAreCorrect_inAnyOrderOfFaults() throws {
        let document = try JSONDocument(Array(#"{"a":[1,{"b":2}],"c":{"d":[3,[4,5]]},"e/~":6}"#.utf8))
        let root = try #require(document.root.object())
        root.value("e/~")?.refuse(.wrongType, "")
        root.value("c")?.refuse(.wrongType, "")
        root.object("c")?.value("d")?.refuse(.wrongType, "")
        root.value("a")?.refuse(.wrongType, "")
        document.root.refuse(.wrongType, "")
        #expect(document.faults.map(\.pointer) == ["/e~1~0", "/c", "/c/d", "/a", ""])
        root.value("c")?.refuse(.wrongType, "")
        #expect(document.faults.count == 6)
    }
}
