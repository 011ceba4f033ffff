/// The forms in which other systems write times.
package enum ImportedTime {
    /// 2009-01-01: no service sent pushes before. An earlier time is a zero, or a number of another unit.
    private static let earliest = Timestamp(microseconds: 1_230_768_000_000_000)
    /// A number that is a later time, in seconds, is none. This is the year 2100.
    private static let latestSeconds = 4_102_444_800.0
    /// Days of spreadsheets from 2009 to 2100. As Unix seconds they would be in 1970.
    private static let days = 39_814.0..<73_051.0
    /// 1970-01-01.
    private static let firstDay = 25_569.0

    /// The time that a file of any system means; nil if it cannot be known. A time without an offset is UTC.
    ///
    /// - RFC 3339, also with a space instead of the T, without an offset, with an offset without a colon or minutes, or
    ///   with ` UTC`; a date alone is its midnight. Both also as 8 or 14 digits.
    /// - Unix seconds, milliseconds or microseconds, with or without a fraction; days of a spreadsheet.
    package static func parse(_ text: String) -> Timestamp? {
        let time = Timestamp(text) ?? compact(text) ?? number(text) ?? loose(text)
        return time.flatMap { $0 < earliest ? nil : $0 }
    }

    private static func compact(_ text: String) -> Timestamp? {
        let digits = Array(text.utf8)
        guard digits.count == 8 || digits.count == 14, digits.allSatisfy(ASCII.isDigit) else { return nil }
        func pair(_ first: Int) -> String { String(decoding: digits[first..<(first + 2)], as: UTF8.self) }
        let date = "\(pair(0))\(pair(2))-\(pair(4))-\(pair(6))T"
        return Timestamp(date + (digits.count == 8 ? "00:00:00Z" : "\(pair(8)):\(pair(10)):\(pair(12))Z"))
    }

    private static func number(_ text: String) -> Timestamp? {
        guard text.utf8.allSatisfy({ ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }), let number = Double(text) else {
            return nil
        }
        let seconds =
            switch number {
            case days: (number - firstDay) * 86_400
            case 1e14...: number / 1e6
            case 1e11...: number / 1e3
            default: number
            }
        guard seconds < latestSeconds else { return nil }
        // Milliseconds: more digits of a number with a fraction are not exact.
        return Timestamp(milliseconds: Int64((seconds * 1_000).rounded()))
    }

    private static func loose(_ text: String) -> Timestamp? {
        var form = text.trimmingSpaces()
        for suffix in [" UTC", " GMT", " Z"] where form.hasSuffix(suffix) {
            form = form.dropLast(suffix.count).trimmingSpaces()
            break
        }
        if form.utf8.count == 10 { form += "T00:00:00" }
        guard let space = form.firstIndex(where: { $0 == " " || $0 == "T" || $0 == "t" }) else { return nil }
        form.replaceSubrange(space...space, with: "T")
        return Timestamp(form) ?? Timestamp(form + "Z") ?? Timestamp(withColonInOffset(form))
    }

    /// `+0200` and `+02`, also behind a space, become `+02:00`.
    private static func withColonInOffset(_ text: String) -> String {
        guard let sign = text.lastIndex(where: { $0 == "+" || $0 == "-" }) else { return text }
        let (time, digits) = (text[..<sign].trimmingSpaces(), text[text.index(after: sign)...].filter { $0 != ":" })
        guard digits.count == 2 || digits.count == 4 else { return text }
        return "\(time)\(text[sign])\(digits.prefix(2)):\(digits.count == 2 ? "00" : digits.suffix(2))"
    }
}

extension StringProtocol {
    /// Without spaces, tabs and line ends at both ends.
    package func trimmingSpaces() -> String {
        let rest = drop { $0.isWhitespace }
        guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(rest[...last])
    }
}

extension AuthorizationStatus {
    /// The status that a word means, in any case, with or without `_`, `-` and spaces. Nil for a word that is not in
    /// the table: nobody knows whether its user allows notifications.
    public init?(word: String) {
        // Most files have our own words: the rest is slow.
        guard let status = Self(rawValue: word) ?? Self.words[word.lettersOfWord] else { return nil }
        self = status
    }

    private static let words: [String: AuthorizationStatus] = {
        var words = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })
        for word in ["true", "t", "yes", "y", "1", "on", "enabled", "allowed", "granted", "subscribed", "optedin"] {
            words[word] = .authorized
        }
        for word in ["false", "f", "no", "n", "0", "off", "disabled", "blocked", "unsubscribed", "optedout"] {
            words[word] = .denied
        }
        // Of browsers: the user was not asked.
        for word in ["default", "prompt"] { words[word] = .notDetermined }
        return words
    }()
}

extension Provider {
    /// The provider that a word means, in any case, with or without `_`, `-` and spaces. Nil for other words.
    public init?(word: String) {
        guard let provider = Self(rawValue: word) ?? Self.words[word.lettersOfWord] else { return nil }
        self = provider
    }

    private static let words: [String: Provider] = {
        var words = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue.lowercased(), $0) })
        words["ios"] = apns
        for word in ["android", "gcm", "firebase"] { words[word] = fcm }
        (words["web"], words["hms"]) = (webPush, huawei)
        return words
    }()
}

extension String {
    /// Without what sets words apart, in lower case.
    fileprivate var lettersOfWord: String { lowercased().filter { $0 != "_" && $0 != "-" && !$0.isWhitespace } }
}
