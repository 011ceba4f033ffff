import PostgresClient
import PushRegistry

/// What the roll-up's triggers add to changed registrations: new settings of 100 installations to a statement, as the service
/// writes a batch under load, and for the sake of the difference without waiting for the disk.
struct TriggerCost {
    struct Result: Codable, Sendable {
        /// Milliseconds of a statement, medians.
        let with: Double
        let without: Double
    }

    private static let batch = 100
    private static let statements = 400
    private static let rounds = 5

    private let database: PostgresConfiguration
    private let app: App
    private let count: Int

    init(_ database: PostgresConfiguration, app: App, count: Int) {
        self.database = database
        self.app = app
        self.count = count
    }

    func measure() async throws -> Result {
        try await PostgresSession.withSession(database) { session in
            try session.run(script: "SET synchronous_commit = off; SET enable_seqscan = off; SET enable_hashjoin = off")
            let share = min(1, Double(Self.batch * Self.statements) / Double(count))
            let ids: [String] = try session.execute(
                "SELECT install_id FROM installation TABLESAMPLE BERNOULLI (\(share * 100)) WHERE app_id = \(app.number.rawValue)"
            ).map { try $0.decode(0) }
            var (with, without): ([Double], [Double]) = ([], [])
            for round in 0..<2 * Self.rounds {
                let isOn = round % 2 == 0
                try session.run(script: "ALTER TABLE installation \(isOn ? "ENABLE" : "DISABLE") TRIGGER USER")
                let milliseconds = try change(ids.shuffled(), round, session)
                // The first round brings the pages in.
                if round >= 2 { if isOn { with += milliseconds } else { without += milliseconds } }
            }
            try session.run(script: "ALTER TABLE installation ENABLE TRIGGER USER")
            return Result(with: with.sorted()[with.count / 2], without: without.sorted()[without.count / 2])
        }
    }

    private func change(_ ids: [String], _ round: Int, _ session: PostgresSession) throws -> [Double] {
        try stride(from: 0, to: ids.count - Self.batch, by: Self.batch).map { start in
            let batch = ids[start..<start + Self.batch].sorted()
            let setting = round % 4 < 2 ? "enabled" : "disabled"
            let begin = ContinuousClock.now
            _ = try session.execute(
                """
                UPDATE installation i SET badge_setting = \(setting)::text::notification_setting, last_seen_at = now()
                FROM unnest(\(batch)) AS k (install_id)
                WHERE i.app_id = \(app.number.rawValue) AND i.install_id = k.install_id
                """)
            return (ContinuousClock.now - begin) / .milliseconds(1)
        }
    }
}
