/// The options of a run.
struct RunOptions: Codable, Sendable {
    /// How long requests are sent before each measurement without being counted.
    static let warmUpSeconds = 1
    /// Long enough for all calls of feedback on a slow machine.
    static let feedbackSecondsMax = 1_800

    var rows = RunRow.allCases
    var count = 1_000_000
    var seconds = 10
    var rounds = 3
    var connections = 64
    var idleConnections = 10_000
    /// The most installations with requests created in advance, for each row: about 1.4 KB each, in a file.
    var poolMax = 200_000
    var seed: UInt64 = 1
    /// Whether the service logs each request.
    var writesAccessLog = true
    /// Added to each flush of the WAL.
    var flushDelayMicroseconds = 0

    /// The engine is measured without a database.
    var wantsDatabase: Bool { rows.contains { $0 != .engine } }

    func wants(_ row: RunRow) -> Bool { rows.contains(row) }
}
