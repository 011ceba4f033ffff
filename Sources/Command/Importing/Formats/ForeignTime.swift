import PushRegistry

/// The forms in which other systems write times. A time without an offset is UTC.
package enum ForeignTime {
    /// Unix times from here on are milliseconds: as seconds they would be after the year 5138.
    private static let millisecondsMin: UInt64 = 100_000_000_000

    /// Unix seconds (with or without a fraction) or milliseconds; RFC 3339, also with a space instead of the T, without
    /// an offset, with an offset without a colon or minutes, or with ` UTC`; a date alone is its midnight.
    package static func parse(_ text: String) -> Timestamp? {
        if let time = Timestamp(text) ?? unix(text) { return time }
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

    private static func unix(_ text: String) -> Timestamp? {
        if let number = Int64(text) {
            return number.magnitude >= millisecondsMin ? Timestamp(milliseconds: number) : Timestamp(seconds: number)
        }
        guard let number = Double(text), number.isFinite, abs(number) < Double(Int64.max) / 1_000 else { return nil }
        let milliseconds = abs(number) >= Double(millisecondsMin) ? number : number * 1_000
        return Timestamp(milliseconds: Int64(milliseconds.rounded()))
    }
}
