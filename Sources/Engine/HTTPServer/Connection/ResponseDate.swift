import Basics
import Glibc

/// The value of `Date`, rendered once a second: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
struct ResponseDate {
    private var second = time_t.min
    private var bytes: [UInt8] = []

    mutating func value() -> [UInt8] {
        let now = time(nil)
        if now != second {
            second = now
            bytes = Self.render(now)
        }
        return bytes
    }

    static func render(_ second: time_t) -> [UInt8] {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var date = Array("\(days[Int(parts.tm_wday)]), ".utf8)
        date.appendDecimal(parts.tm_mday.magnitude, digitsMin: 2)
        date.append(contentsOf: " \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)".utf8)
        for (separator, number) in [(" ", parts.tm_hour), (":", parts.tm_min), (":", parts.tm_sec)] {
            date.append(contentsOf: separator.utf8)
            date.appendDecimal(number.magnitude, digitsMin: 2)
        }
        date.append(contentsOf: " GMT".utf8)
        return date
    }
}
