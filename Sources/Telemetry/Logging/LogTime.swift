import Glibc

/// A moment as log lines show it: RFC 3339 in UTC with milliseconds, `2025-01-31T09:05:07.042Z`.
struct LogTime {
    private let seconds: time_t
    private let milliseconds: Int

    init(seconds: time_t, milliseconds: Int) {
        self.seconds = seconds
        self.milliseconds = milliseconds
    }

    static var now: LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(seconds: time.tv_sec, milliseconds: time.tv_nsec / 1_000_000)
    }

    func write(to bytes: inout [UInt8]) {
        var (seconds, parts) = (seconds, tm())
        gmtime_r(&seconds, &parts)
        Self.write(Int(parts.tm_year) + 1900, digits: 4, before: "-", to: &bytes)
        Self.write(Int(parts.tm_mon) + 1, digits: 2, before: "-", to: &bytes)
        Self.write(Int(parts.tm_mday), digits: 2, before: "T", to: &bytes)
        Self.write(Int(parts.tm_hour), digits: 2, before: ":", to: &bytes)
        Self.write(Int(parts.tm_min), digits: 2, before: ":", to: &bytes)
        Self.write(Int(parts.tm_sec), digits: 2, before: ".", to: &bytes)
        Self.write(milliseconds, digits: 3, before: "Z", to: &bytes)
    }

    private static func write(
        _ number: Int, digits: Int, before separator: Unicode.Scalar, to bytes: inout [UInt8]
    ) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
        bytes.append(UInt8(ascii: separator))
    }
}
