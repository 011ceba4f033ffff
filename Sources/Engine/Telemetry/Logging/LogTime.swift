import Basics
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
        bytes.appendDateTime(Int64(seconds))
        bytes.append(UInt8(ascii: "."))
        bytes.appendDecimal(UInt(milliseconds), digitsMin: 3)
        bytes.append(UInt8(ascii: "Z"))
    }
}
