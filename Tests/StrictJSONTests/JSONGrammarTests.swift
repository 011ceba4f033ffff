import StrictJSON
import Testing

@Suite("A text is JSON by RFC 8259, or refused with the offset of its first fault")
struct JSONGrammarTests {
    @Test(arguments: [
        "{}", "[]", "0", "-0", "-1.5e+10", "1E5", "0.0", "true", "false", "null", "\"\"", " \t\r\n1 \n",
        #"{"a":{"b":[1,2,{"c":null}]}}"#, #"["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"]"#, "\"é😀\u{7F}\"",
        "[[],{},[{}]]",
        #"{"":1}"#, "[1 , 2]", "{ \"a\" : 1 , \"b\" : 2 }", "123456789012345678901234567890", "1e400", "0e3",
    ])
    func read_succeeds_whenTextIsJSON(text: String) throws {
        #expect(try JSONDocument(Array(text.utf8)).faults.isEmpty)
    }

    @Test(arguments: [
        ("", 0), (" ", 1), ("{", 1), ("[1,]", 3), ("[,1]", 1), ("{\"a\"}", 4), ("{\"a\":}", 5), ("{\"a\":1,}", 7),
        ("{a:1}", 1), ("{'a':1}", 1), ("[1}", 2), ("1 2", 2), ("01", 1), ("-", 1), ("1.", 2), (".5", 0), ("1e", 2),
        ("+1", 0), ("0x1", 1), ("NaN", 0), ("Infinity", 0), ("tru", 0), ("truex", 4), ("nul", 0), ("\"a", 2),
        ("\"\\x\"", 2), ("\"\\u12g4\"", 5), ("\"\\u12", 5), ("\"\n\"", 1), ("\"\t\"", 1), ("[1]]", 3), ("// c\n1", 0),
        ("\u{FEFF}1", 0), ("\u{A0}1", 0), ("{\"a\" 1}", 5), ("[1 2]", 3), ("\"\\", 2), ("\"\\ud800\\u12\"", 11),
    ])
    func read_reportsTheOffset_whenTextIsNotJSON(text: String, offset: Int) {
        let faults = #expect(throws: JSONFaults.self) { try JSONDocument(Array(text.utf8)) }
        #expect(faults?.faults.map(\.code) == [.malformed])
        #expect(faults?.faults.map(\.offset) == [offset])
        #expect(faults?.faults.map(\.pointer) == [""])
    }

    @Test(
        "Overlong forms, surrogates, values above U+10FFFF, stray and missing continuations",
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC3], [0xE2, 0x82], [0xC3, 0x28],
            [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func read_fails_whenTextIsNotUTF8(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(throws: JSONFaults.self) { try JSONDocument([quote] + bytes + [quote]) }
        #expect(throws: JSONFaults.self) { try JSONDocument([quote] + bytes) }
    }

    @Test func read_fails_whenNestedDeeperThanAllowed() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(try JSONDocument(nested(16)).faults.isEmpty)
        #expect(try JSONDocument(nested(32), depthMax: 32).faults.isEmpty)
        let faults = #expect(throws: JSONFaults.self) { try JSONDocument(nested(17)) }
        #expect(faults?.faults.map(\.code) == [.tooDeep])
        #expect(faults?.faults.first?.offset == 16)
    }
}

@Suite("Ambiguous JSON adds faults with pointers, and reading continues")
struct AmbiguityTests {
    @Test(arguments: [
        (#"{"a":1,"a":2}"#, "duplicate-member /a"),
        (#"{"a":1,"\u0061":2}"#, "duplicate-member /a"),
        (#"{"x":{"y":[{"b":1,"c":2,"b":3,"b":4}]}}"#, "duplicate-member /x/y/0/b, duplicate-member /x/y/0/b"),
        (#"{"a/b~c":"\u0000"}"#, "nul-character /a~1b~0c"),
        (#"["\ud800"]"#, "lone-surrogate /0"),
        (#"["\udc00x"]"#, "lone-surrogate /0"),
        (#"["\ud800\ud800"]"#, "lone-surrogate /0, lone-surrogate /0"),
        (#"["\ud800\u0041", "\ud83d\ude00"]"#, "lone-surrogate /0"),
        (#"{"\ud800":1}"#, "lone-surrogate /\u{FFFD}"),
        (#""\u0000""#, "nul-character "),
    ])
    func read_listsFaultsWithPointers_whenTextIsAmbiguous(text: String, expected: String) throws {
        let faults = try JSONDocument(Array(text.utf8)).faults
        #expect(faults.map { "\($0.code.rawValue) \($0.pointer)" }.joined(separator: ", ") == expected)
    }

    @Test func read_distinguishesNames_whenTheyAreOnlyCanonicallyEquivalent() throws {
        #expect(try JSONDocument(Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8)).faults.isEmpty)
    }

    @Test(arguments: [1, 31, 32, 33, 40, 500])
    func read_findsTheDuplicate_whateverTheNumberOfMembers(count: Int) throws {
        let members = (0..<count).map { "\"member\($0)\":\($0)" }
        let unique = "{\(members.joined(separator: ","))}"
        let repeated = "{\(members.joined(separator: ",")),\"member\(count / 2)\":0}"
        #expect(try JSONDocument(Array(unique.utf8)).faults.isEmpty)
        #expect(try JSONDocument(Array(repeated.utf8)).faults.map(\.pointer) == ["/member\(count / 2)"])
    }

    @Test func read_listsAtMostAHundredFaults_whenThereAreMore() throws {
        let text = "[" + Array(repeating: #""\u0000""#, count: 5000).joined(separator: ",") + "]"
        #expect(try JSONDocument(Array(text.utf8)).faults.count == 100)
    }

    @Test func read_isQuick_whenAnObjectIsHuge() throws {
        let members = (0..<200_000).map { "\"\($0)\":0" }.joined(separator: ",")
        let duration = try ContinuousClock().measure {
            _ = try JSONDocument(Array("{\(members)}".utf8))
        }
        #expect(duration < .seconds(10))
    }

    @Test func read_refusesNull_onRequest() throws {
        let body = Array(#"{"a":null,"b":[1,null]}"#.utf8)
        #expect(try JSONDocument(body).faults.isEmpty)
        let faults = try JSONDocument(body, refusesNull: true).faults
        #expect(faults.map { "\($0.code.rawValue) \($0.pointer)" } == ["null /a", "null /b/1"])
    }
}
