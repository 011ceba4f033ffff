import ByteText
import Glibc

/// A time in the format of log lines: RFC 3339 in UTC with milliseconds, `2025-01-31T09:05:07.042Z`.
struct LogTime {
    let seconds: time_t
    let milliseconds: Int

    static var now: LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(seconds: time.tv_sec, milliseconds: time.tv_nsec / 1_000_000)
    }

    func write(to bytes: inout [UInt8]) {
        var (seconds, parts) = (seconds, tm())
        gmtime_r(&seconds, &parts)
        let fields: [(number: CInt, digits: Int, separator: Unicode.Scalar)] = [
            (parts.tm_year + 1900, 4, "-"), (parts.tm_mon + 1, 2, "-"), (parts.tm_mday, 2, "T"),
            (parts.tm_hour, 2, ":"), (parts.tm_min, 2, ":"), (parts.tm_sec, 2, "."), (CInt(milliseconds), 3, "Z"),
        ]
        for field in fields {
            bytes.appendDecimal(UInt(field.number), digitsMin: field.digits)
            bytes.append(UInt8(ascii: field.separator))
        }
    }
}
