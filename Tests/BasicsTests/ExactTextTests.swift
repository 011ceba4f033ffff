import Basics
import Testing

@Suite("A text is compared by its bytes")
struct ExactTextTests {
    /// Each pair is equal as strings. The second and third have the same number of bytes.
    @Test(arguments: [
        ("caf\u{E9}", "cafe\u{301}"), ("\u{212B}", "A\u{30A}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"),
        ("K", "\u{212A}"),
    ])
    func spellings_areTwoTexts(_ left: String, _ right: String) {
        #expect(left == right)
        #expect(ExactText(left) != ExactText(right))
        #expect(Set([ExactText(left), ExactText(right), ExactText(left)]).count == 2)
        let isBefore = left.utf8.lexicographicallyPrecedes(right.utf8)
        #expect((ExactText(left) < ExactText(right)) == isBefore && (ExactText(right) < ExactText(left)) != isBefore)
    }

    /// Short texts, and long ones in storage of their own.
    @Test(arguments: ["", "iOS", "America/Argentina/Buenos_Aires", String(repeating: "\u{E9}", count: 99)])
    func equalBytes_areOneText(_ text: String) {
        let copy = ExactText(String(decoding: Array(text.utf8), as: UTF8.self))
        #expect(ExactText(text) == copy && Set([ExactText(text), copy]).count == 1)
        #expect(ExactText(text) != ExactText(text + "a") && !(copy < ExactText(text)))
    }
}
