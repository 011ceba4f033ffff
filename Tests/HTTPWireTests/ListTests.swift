import HTTPWire
import Testing

@Suite("Lists in field values (RFC 9110 section 5.6.1)")
struct ListTests {
    @Test(arguments: [
        ("", []), (" \t", []), (",", []), ("a", ["a"]), (" a\t", ["a"]), ("a,b", ["a", "b"]),
        (",, a ,\tb b , ", ["a", "b b"]), ("ü , é;q=1", ["ü", "é;q=1"]), ("\u{A0}a", ["\u{A0}a"]),
        (",\u{301}", ["\u{301}"]),
    ])
    func elements_areTrimmed_andEmptyOnesSkipped(_ value: String, _ elements: [String]) {
        #expect(value.listElements() == elements)
    }

    @Test func parameters_areSeparatedBySemicolons() {
        #expect("gzip ; q=0.5;, x".listElements(separator: UInt8(ascii: ";")) == ["gzip", "q=0.5", ", x"])
    }
}
