/// What a run was asked for.
struct RunOptions: Codable, Sendable {
    /// Sent and not counted, before each measured stretch.
    static let warmUpSeconds = 1

    var rows = Row.allCases
    var count = 1_000_000
    var seconds = 10
    var rounds = 3
    var connections = 64
    var idleConnections = 10_000
    /// Installations whose requests are made beforehand, for each row: about 1.4 KB each.
    var poolMax = 200_000
    var seed: UInt64 = 1
    /// Whether the service logs each request.
    var writesAccessLog = true
    /// Added to each flush of the WAL.
    var flushDelayMicroseconds = 0

    /// The engine is measured without one.
    var wantsDatabase: Bool { rows.contains { $0 != .engine } }

    func wants(_ row: Row) -> Bool { rows.contains(row) }
}
