/// Everything that was measured.
struct Report: Codable, Sendable {
    static let secondsUntilReadyMax = 0.3
    static let idleMegabytesMax = 120.0

    let options: RunOptions
    private(set) var http: [Row: [Measurement]] = [:]
    private(set) var upserts: [Measurement] = []
    private(set) var inserts: [Measurement] = []
    var secondsUntilReady: Double?
    var idleMegabytes: Double?
    var flushMicroseconds: Double?
    var engine: EngineReport?

    init(options: RunOptions) {
        self.options = options
    }

    mutating func add(_ measurement: Measurement, to row: Row) { http[row, default: []].append(measurement) }
    mutating func addUpserts(_ measurement: Measurement) { upserts.append(measurement) }
    mutating func addInserts(_ measurement: Measurement) { inserts.append(measurement) }

    /// What a row is held to: pgbench, or changed registrations.
    func other(_ row: Row) -> Measurement? {
        switch row {
        case .takeover, .logout: http[.changed]?.median
        case .unchanged, .changed: upserts.median
        case .first: inserts.median
        case .feedback, .feedbackAgain, .healthz, .start, .idle, .engine: nil
        }
    }
}
