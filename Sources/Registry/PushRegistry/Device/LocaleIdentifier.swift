import Basics

/// A locale in canonical form: language lower, script Title, region UPPER, variants UPPER, joined by `_`, as in
/// `zh_Hans_CN` and `ca_ES_VALENCIA` (the form of ICU and of Apple's systems; Unicode TR 35, section 3).
///
/// Both `-` and `_` separate subtags. Keywords (`@calendar=…`), extensions (`-u-ca-…`) and a POSIX character set
/// (`.UTF-8`) are dropped. The language has CLDR's canonical code: `iw_IL` is `he_IL`. Java's form `zh_CN_#Hans` is
/// `zh_Hans_CN`. A text that cannot be parsed is kept as sent.
public struct LocaleIdentifier: Hashable, Sendable, CustomStringConvertible {
    public var text: String { exactText.text }
    private let exactText: ExactText
    /// False for a text that is kept as sent: it matches only itself.
    public let isParsed: Bool

    public init(_ sent: String) {
        let canonical = Self.isUsual(sent) ? sent : Self.canonical(sent)
        exactText = ExactText(canonical ?? sent)
        isParsed = canonical != nil
    }

    public var description: String { text }

    /// The locale and all more general ones, the most general first: `zh`, `zh_Hans`, `zh_Hans_CN`. A locale lies in
    /// each of them.
    public var ancestry: [String] {
        guard isParsed else { return [text] }
        let ends = text.indices.filter { text[$0] == "_" } + [text.endIndex]
        return ends.map { String(text[..<$0]) }
    }

    /// The fast path: nearly all devices send a canonical text such as `de_DE` or `zh_Hans_CN`.
    private static func isUsual(_ text: String) -> Bool {
        let hasUsualForm =
            switch text.utf8.count {
            case 5: hasForm(text, "aa_AA")
            case 10: hasForm(text, "aa_Aaaa_AA")
            default: false
            }
        return hasUsualForm && LanguageAliases.replacement(of: text.prefix(2)) == nil
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
        guard var rest = subtags(of: sent), let language = rest.popFirst(), isLanguage(language) else { return nil }
        let parts = (LanguageAliases.replacement(of: language) ?? language.lowercased()).split(separator: "-")
        // The language's canonical code may bring a script or region, where the text has none.
        var (script, region) = (parts.first(where: isScript), parts.dropFirst().first(where: isRegion))
        if let sent = rest.first, isScript(sent) { script = rest.removeFirst() }
        if let sent = rest.first, isRegion(sent) { region = rest.removeFirst() }
        guard rest.allSatisfy(isVariant) else { return nil }
        let title = script.map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }
        return ([String(parts[0]), title, region?.uppercased()].compactMap(\.self) + rest.map { $0.uppercased() })
            .joined(separator: "_")
    }

    /// Without keywords, character set and extensions; nil if a subtag is malformed.
    private static func subtags(of sent: String) -> ArraySlice<Substring>? {
        let name = sent.prefix { $0 != "@" && $0 != "." }
        let subtags =
            name.firstIndex(of: "#").map { subtagsOfJava(name[..<$0], name[name.index(after: $0)...]) }
            ?? name.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)
        guard subtags.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(ASCII.isAlphanumeric) }) else {
            return nil
        }
        // An extension begins with a single character and lasts to the end (RFC 5646, section 2.2.6).
        return subtags.dropFirst().firstIndex { $0.utf8.count == 1 }.map { subtags[..<$0] } ?? subtags[...]
    }

    /// `Locale.toString` of Java: language, country and variant, then `#` and the script and extensions:
    /// `sr_RS_#Latn`, `zh__#Hans`, `en_US_#u-mu-celsius`, `th_TH_TH_#u-nu-thai`. Its variants need not be those of
    /// BCP 47.
    private static func subtagsOfJava(_ places: Substring, _ more: Substring) -> [Substring] {
        var places = places.split(omittingEmptySubsequences: false, whereSeparator: isSeparator)[...]
        let language = places.removeFirst()
        places = places.filter { !$0.isEmpty }[...]
        let region = places.first.flatMap { isRegion($0) ? places.popFirst() : nil }
        let script = more.prefix { !isSeparator($0) }
        return [language] + (isScript(script) ? [script] : []) + (region.map { [$0] } ?? []) + places.filter(isVariant)
    }

    private static func isSeparator(_ character: Character) -> Bool { character == "-" || character == "_" }

    private static func isScript(_ subtag: Substring) -> Bool { subtag.utf8.count == 4 && isLetters(subtag) }

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
