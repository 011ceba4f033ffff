/// A locale in canonical form: language lower, script Title, region UPPER, variants UPPER, joined by `_`, as in
/// `zh_Hans_CN` and `ca_ES_VALENCIA` (the form of ICU and of Apple's systems; Unicode TR 35, section 3).
///
/// `-` and `_` are both read. Whatever does not name a language or a place is dropped: keywords (`@calendar=…`), the
/// extensions that BCP 47 writes them in (`-u-ca-…`) and a POSIX character set (`.UTF-8`). What cannot be parsed is
/// kept as sent.
public struct LocaleIdentifier: Hashable, Sendable, CustomStringConvertible {
    public let text: String
    /// False for what is kept as sent, and matches nothing but itself.
    public let isParsed: Bool

    public init(_ sent: String) {
        let canonical = Self.isUsual(sent) ? sent : Self.canonical(sent)
        text = canonical ?? sent
        isParsed = canonical != nil
    }

    public var description: String { text }

    /// The locale and all that it lies in, the widest first: `zh`, `zh_Hans`, `zh_Hans_CN`.
    public var ancestry: [String] {
        guard isParsed else { return [text] }
        let ends = text.indices.filter { text[$0] == "_" } + [text.endIndex]
        return ends.map { String(text[..<$0]) }
    }

    /// Whether this locale is the wanted one or lies in it: `de_AT` in `de`, never `den`.
    public func lies(in wanted: LocaleIdentifier) -> Bool {
        if text == wanted.text { return true }
        return isParsed && wanted.isParsed && text.hasPrefix(wanted.text + "_")
    }

    /// Whether the text is canonical already, in the form that nearly all devices send: `de_DE`.
    private static func isUsual(_ text: String) -> Bool {
        let bytes = text.utf8
        return bytes.count == 5
            && bytes.enumerated().allSatisfy { place, byte in
                switch place {
                case 0, 1: byte &- UInt8(ascii: "a") < 26
                case 2: byte == UInt8(ascii: "_")
                default: byte &- UInt8(ascii: "A") < 26
                }
            }
    }

    /// Nil if the text is not language, script, region and variants, in this order and all but the language optional.
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

    /// ISO 639: two or three letters. Longer ones are reserved and never registered, so that `POSIX` is none.
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

/// Classes of ASCII characters; Swift's own are Unicode's.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
    static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }
}
