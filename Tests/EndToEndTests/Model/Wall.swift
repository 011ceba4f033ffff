import Foundation

/// The wall clock, which service, database and tests share on one machine.
enum Wall {
    /// Microseconds since 1970.
    static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// Parses `2026-11-21T02:03:04.567891Z`.
    static func microseconds(_ text: String) -> Int64? {
        let parts = text.dropLast().split(separator: ".")
        guard text.last == "Z", let date = parts.first.flatMap({ try? Date("\($0)Z", strategy: .iso8601) }) else {
            return nil
        }
        let decimals = parts.count > 1 ? (parts[1] + "000000").prefix(6) : "0"
        return Int64(date.timeIntervalSince1970) * 1_000_000 + (Int64(decimals) ?? 0)
    }

    static func text(_ microseconds: Int64) -> String {
        let seconds = Date(timeIntervalSince1970: Double(microseconds / 1_000_000)).formatted(.iso8601)
        let decimals = String(String(1_000_000 + microseconds % 1_000_000).dropFirst())
        return "\(seconds.dropLast()).\(decimals)Z"
    }
}

/// The registry's time, which follows PostgreSQL's clock, by the clock of this process.
struct ModelClock: Sendable {
    /// By how much PostgreSQL's clock is ahead, as far as it was measured.
    var ahead: ClosedRange<Int64> = 0...0
    /// The latest time before the clock was set back: the registry's time stands still until the clock has passed it.
    var latest: Int64 = 0

    /// A service that missed the latest time takes it within five seconds.
    private static let storeInterval: Int64 = 10_000_000

    /// The times that the registry may have had between two moments.
    func times(from start: Int64, to end: Int64) -> ClosedRange<Int64> {
        let start = start + ahead.lowerBound
        let end = end == .max ? end : end + ahead.upperBound
        return start > latest ? start...end : (latest - Self.storeInterval)...max(end, latest)
    }
}
