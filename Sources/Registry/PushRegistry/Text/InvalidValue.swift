/// Classes of ASCII characters. Swift's `Character` properties cover all of Unicode.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
    static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }

    /// Whether the text consists of 1 to `charactersMax` of `A-Z a-z 0-9 . _ -` and can be a segment of a path.
    static func isName(_ text: String, charactersMax: Int) -> Bool {
        (1...charactersMax).contains(text.utf8.count) && VisibleASCII.isSegment(text)
            && text.utf8.allSatisfy {
                isAlphanumeric($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
            }
    }
}

/// The characters 0x21 to 0x7E: ASCII without space and control characters.
enum VisibleASCII {
    static func identifier(_ text: String, code: String) throws(InvalidValue) -> String {
        guard (1...128).contains(text.utf8.count), contains(text), isSegment(text) else {
            throw InvalidValue(
                code: code, detail: "This must be 1 to 128 visible ASCII characters, and neither . nor ..")
        }
        return text
    }

    /// Whether a text can be a segment of a path: clients and proxies remove `.` and `..`.
    static func isSegment(_ text: String) -> Bool { text != "." && text != ".." }

    static func contains(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 &- 0x21 < 0x5E }
    }
}

/// Why a text or number is not a valid value of the domain. It says what is expected and never quotes the input.
public struct InvalidValue: Error, Hashable, Sendable {
    /// For programs: stable, kebab-case.
    public let code: String
    /// For people.
    public let detail: String

    public init(code: String, detail: String) {
        (self.code, self.detail) = (code, detail)
    }
}

/// Suggests the correct spelling of a misspelt name.
public enum NearestName {
    /// The name with the fewest different letters, if at most a third of them differ. Else the name whose last part is
    /// the text, such as a time zone of which only the city is given.
    public static func of(_ text: String, among names: some Sequence<String>) -> String? {
        guard text.utf8.count <= 64 else { return nil }
        let letters = Array(text.lowercased().utf8)
        let ranked = names.map { ($0, distance(letters, Array($0.lowercased().utf8))) }
        let nearest = ranked.min { ($0.1, $0.0) < ($1.1, $1.0) }
        if let (name, distance) = nearest, distance <= max(1, max(letters.count, name.utf8.count) / 3) { return name }
        return ranked.map(\.0).filter { $0.lowercased().hasSuffix("/" + text.lowercased()) }.min()
    }

    /// A sentence for the error of an unknown name: the nearest name, or all names.
    public static func hint(for text: String, among names: [String]) -> String {
        if let nearest = of(text, among: names) { return "Did you mean \(nearest)?" }
        return "The names are: \(names.joined(separator: ", "))."
    }

    /// The number of letters to replace, add, remove or swap with a neighbour (optimal string alignment distance).
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var (before, last) = ([Int](), Array(0...right.count))
        for (row, letter) in left.enumerated() {
            var next = [row + 1]
            for (column, other) in right.enumerated() {
                var least = min(last[column + 1] + 1, next[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    least = min(least, before[column - 1] + 1)
                }
                next.append(least)
            }
            (before, last) = (last, next)
        }
        return last[right.count]
    }
}
