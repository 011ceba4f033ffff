/// A locale in canonical form: language lower, script Title, region UPPER, variants UPPER, joined by `_`, as in
/// `zh_Hans_CN` and `ca_ES_VALENCIA` (the form of ICU and of Apple's systems; Unicode TR 35, section 3).
///
/// Both `-` and `_` separate subtags. Keywords (`@calendar=…`), BCP 47 extensions (`-u-ca-…`) and a POSIX character
/// set (`.UTF-8`) are dropped. A text that cannot be parsed is kept as sent.
public struct LocaleIdentifier: Hashable, Sendable, CustomStringConvertible {
    public let text: String
    /// False for a text that is kept as sent: it matches only itself.
    public let isParsed: Bool

    public init(_ sent: String) {
        let canonical = Self.isUsual(sent) ? sent : Self.canonical(sent)
        text = canonical ?? sent
        isParsed = canonical != nil
    }

    public var description: String { text }

    /// The locale and all more general ones, the most general first: `zh`, `zh_Hans`, `zh_Hans_CN`.
    public var ancestry: [String] {
        guard isParsed else { return [text] }
        let ends = text.indices.filter { text[$0] == "_" } + [text.endIndex]
        return ends.map { String(text[..<$0]) }
    }

    /// Whether this locale equals the wanted one or is a special case of it: `de_AT` lies in `de`, `den` does not.
    public func lies(in wanted: LocaleIdentifier) -> Bool {
        if text == wanted.text { return true }
        return isParsed && wanted.isParsed && text.hasPrefix(wanted.text + "_")
    }

    /// The fast path: nearly all devices send a canonical text such as `de_DE` or `zh_Hans_CN`.
    private static func isUsual(_ text: String) -> Bool {
        switch text.utf8.count {
        case 5: hasForm(text, "aa_AA")
        case 10: hasForm(text, "aa_Aaaa_AA")
        default: false
        }
    }

    /// - Parameter form: `a` stands for a lower-case letter, `A` for an upper-case one, `_` for itself.
    private static func hasForm(_ text: String, _ form: StaticString) -> Bool {
        form.withUTF8Buffer { form in
            text.utf8.elementsEqual(form) { byte, expected in
                expected == UInt8(ascii: "_") ? byte == expected : byte &- expected < 26
            }
        }
    }

    /// Nil unless the text is a language, then optionally script, region and variants, in this order.
    private static func canonical(_ sent: String) -> String? {
        let name = sent.prefix { $0 != "@" && $0 != "." }
        let subtags = name.split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }[...]
        guard subtags.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(ASCII.isAlphanumeric) }),
            var rest = withoutExtensions(subtags), let language = rest.popFirst(), isLanguage(language)
        else { return nil }
        var parts = [language.lowercased()]
        if let script = rest.first, script.utf8.count == 4, isLetters(script) {
            parts.append(script.prefix(1).uppercased() + script.dropFirst().lowercased())
            rest.removeFirst()
        }
        if let region = rest.first, isRegion(region) {
            parts.append(region.uppercased())
            rest.removeFirst()
        }
        guard rest.allSatisfy(isVariant) else { return nil }
        return (parts + rest.map { $0.uppercased() }).joined(separator: "_")
    }

    /// An extension begins with a single character and lasts to the end (RFC 5646, section 2.2.6); nil if it is empty.
    private static func withoutExtensions(_ subtags: ArraySlice<Substring>) -> ArraySlice<Substring>? {
        guard let start = subtags.firstIndex(where: { $0.utf8.count == 1 }) else { return subtags }
        return start + 1 < subtags.endIndex ? subtags[..<start] : nil
    }

    /// ISO 639: two or three letters. BCP 47 reserves longer ones, so `POSIX` is not a language.
    private static func isLanguage(_ subtag: Substring) -> Bool {
        (2...3).contains(subtag.utf8.count) && isLetters(subtag)
    }

    /// ISO 3166 letters, or a UN M.49 number such as `419`.
    private static func isRegion(_ subtag: Substring) -> Bool {
        subtag.utf8.count == 2 && isLetters(subtag) || subtag.utf8.count == 3 && subtag.utf8.allSatisfy(ASCII.isDigit)
    }

    private static func isVariant(_ subtag: Substring) -> Bool {
        subtag.utf8.count >= 5 || subtag.utf8.count == 4 && subtag.utf8.first.map(ASCII.isDigit) == true
    }

    private static func isLetters(_ subtag: Substring) -> Bool {
        subtag.utf8.allSatisfy(ASCII.isLetter)
    }
}
