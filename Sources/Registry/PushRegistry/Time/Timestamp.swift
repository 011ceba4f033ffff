import Basics
import Glibc

/// A point in time with microsecond precision, like PostgreSQL's.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z.
    public let microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Nil outside of the years 1 to 9999, the range of RFC 3339.
    public init?(seconds: Int64) {
        guard Self.seconds.contains(seconds) else { return nil }
        microseconds = seconds * 1_000_000
    }

    /// Nil outside of the years 1 to 9999.
    public init?(milliseconds: Int64) {
        guard Self.seconds.contains(milliseconds / 1000) else { return nil }
        microseconds = milliseconds * 1000
    }

    /// The system's wall clock.
    public static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
    }

    /// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
    private static let seconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The time after the duration; the largest timestamp on overflow.
    public func advanced(by duration: ISO8601Duration) -> Timestamp {
        let (sum, overflowed) = microseconds.addingReportingOverflow(duration.seconds * 1_000_000)
        return Timestamp(microseconds: overflowed ? .max : sum)
    }

    /// The time before the duration; the smallest timestamp on overflow.
    public func preceding(by duration: ISO8601Duration) -> Timestamp {
        let (difference, overflowed) = microseconds.subtractingReportingOverflow(duration.seconds * 1_000_000)
        return Timestamp(microseconds: overflowed ? .min : difference)
    }
}

extension Timestamp: CustomStringConvertible {
    /// RFC 3339 in UTC: `2026-11-21T02:03:04Z`, with three or six decimals unless they are zero.
    public var description: String {
        let (seconds, fraction) = split
        var text: [UInt8] = []
        text.reserveCapacity(32)
        text.appendDateTime(seconds)
        if fraction != 0 {
            text.append(UInt8(ascii: "."))
            let (milliseconds, rest) = fraction.quotientAndRemainder(dividingBy: 1_000)
            text.appendDecimal(UInt(milliseconds), digitsMin: 3)
            if rest != 0 { text.appendDecimal(UInt(rest), digitsMin: 3) }
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Whole seconds, rounded down, and the remaining microseconds.
    private var split: (seconds: Int64, fraction: Int) {
        let fraction = (microseconds % 1_000_000 + 1_000_000) % 1_000_000
        return ((microseconds - fraction) / 1_000_000, Int(fraction))
    }
}

extension Timestamp {
    /// Parses `2026-11-21T02:03:04.5+01:00` (RFC 3339, section 5.6). The offset is required, decimals after the sixth
    /// are dropped, and a leap second is refused: Unix time has no value for it.
    public init?(_ text: String) {
        var reader = FieldReader(bytes: Array(text.utf8)[...])
        guard let year = reader.number(4, then: "-"), year >= 1, let month = reader.number(2, then: "-"),
            let day = reader.number(2), reader.take("T") || reader.take("t"),
            let hour = reader.number(2, then: ":"), let minute = reader.number(2, then: ":"),
            let second = reader.number(2), let fraction = reader.fraction(), let offset = reader.offset(),
            reader.bytes.isEmpty, hour < 24, minute < 60, second < 60
        else { return nil }
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (Int32(year - 1900), Int32(month - 1), Int32(day))
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
        let seconds = Int64(timegm(&fields)) - Int64(offset)
        // timegm carries a day that the month does not have into the next one.
        guard fields.tm_mon == month - 1, fields.tm_mday == day, Self.seconds.contains(seconds) else { return nil }
        microseconds = seconds * 1_000_000 + Int64(fraction)
    }

    private struct FieldReader {
        var bytes: ArraySlice<UInt8>

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard bytes.first == UInt8(ascii: scalar) else { return false }
            bytes.removeFirst()
            return true
        }

        mutating func number(_ digits: Int, then separator: Unicode.Scalar? = nil) -> Int? {
            let field = bytes.prefix(digits)
            guard field.count == digits, field.allSatisfy(ASCII.isDigit) else { return nil }
            bytes.removeFirst(digits)
            if let separator, !take(separator) { return nil }
            return field.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        /// Microseconds; 0 without a point.
        mutating func fraction() -> Int? {
            guard take(".") else { return 0 }
            let digits = bytes.prefix(while: ASCII.isDigit)
            guard !digits.isEmpty else { return nil }
            bytes.removeFirst(digits.count)
            let six = Array(digits.prefix(6)) + Array(repeating: UInt8(ascii: "0"), count: max(0, 6 - digits.count))
            return six.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        /// Seconds east of UTC.
        mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let sign = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let hours = number(2, then: ":"), let minutes = number(2), hours < 24, minutes < 60 else {
                return nil
            }
            return sign * (hours * 3600 + minutes * 60)
        }
    }
}
