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

/// PostgreSQL's clock, by the clock of this process.
struct ModelClock: Sendable {
    /// By how much PostgreSQL's clock was ahead in a round, one after the other, as far as it was measured.
    var aheads: [ClosedRange<Int64>] = [0...0]
    /// The latest time before the clock was set back. An installation that was changed then has no earlier time.
    var latest: Int64 = 0
    /// How far it was moved in all.
    var hours: Int64 = 0

    /// The times that the clock may have shown between two moments of a round.
    func times(from start: Int64, to end: Int64) -> [ClosedRange<Int64>] {
        aheads.map { (start + $0.lowerBound)...(end == .max ? end : end + $0.upperBound) }
    }
}
