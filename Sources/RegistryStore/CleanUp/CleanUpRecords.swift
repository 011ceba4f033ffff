import PostgresClient
import PushRegistry

/// The rows that a batch's transaction writes in addition to the changed installations: events, counts, the data for an
/// undo, and the run's counts. Each statement is a plain one of one app, so Citus executes the batch on one node.
struct CleanUpRecords {
    private let step: CleanUpStep
    private let run: Int32
    private var records: StateChangeRecords
    private var preserved: [PreservedChange] = []
    /// The choices that end with bindings, beside the events of their ends.
    private var ended: [(end: TokenEvent, choices: TopicChoices)] = []
    private var purged: [InstallID] = []

    /// - Parameter rows: of `CleanUpStatements.batch`.
    init(_ rows: PostgresResult, of batch: CleanUpWork.Batch, in run: Int32) throws {
        (step, self.run) = (batch.step, run)
        records = StateChangeRecords(in: batch.app, by: CleanUpStatements.actor)
        for row in rows { try add(row) }
    }

    private mutating func add(_ row: PostgresRow) throws {
        let change = try StateChange(row)
        let preserved = try PreservedChange(change, row, step)
        records.add(change, step.event, step.reason, leaving: lostCount(preserved))
        if step.releasesToken { records.release(change) }
        if let preserved {
            self.preserved.append(preserved)
            if !preserved.topicChoices.isEmpty, let end = records.events.last {
                ended.append((end, preserved.topicChoices))
            }
        }
        if step == .purged { purged.append(change.installID) }
    }

    private func lostCount(_ preserved: PreservedChange?) -> LostCount {
        switch step {
        case .stale: .active
        case .unregistered: .none
        case .superseded, .sessionEnded: preserved?.previousState == InstallationState.active.rawValue ? .active : .none
        case .purged: .installation
        }
    }

    /// Whether choices about topics end, whose events name them.
    var endsChoices: Bool { !ended.isEmpty }

    /// - Parameters:
    ///   - position: of the events, drawn after the installations were changed.
    ///   - time: of the batch.
    ///   - topics: of the app, if choices end.
    func statements(
        at position: Int64, _ time: Timestamp, _ ledger: CleanUpLedger, _ topics: TopicCatalogue
    ) -> [PostgresStatement] {
        let app = records.app
        var statements = records.statements(at: position, time)
        let resets = ended.compactMap { TopicsEvent($0.end, ending: $0.choices, in: topics) }
        if !resets.isEmpty { statements.append(TopicsEventStatements.append(resets, in: app, at: position)) }
        if !preserved.isEmpty { statements.append(PreservedChange.statement(preserved, in: app, run: run, step)) }
        if !purged.isEmpty {
            statements.append(SnapshotStatements.delete(of: purged, in: app))
            statements.append(InstallationStatements.deleteChanges(of: purged, in: app))
        }
        statements.append(ledger.counting(records.events.count, step, of: app, in: run))
        return statements
    }
}

/// The values that an installation lost in a step, for `cleanup undo`: a row of `cleanup_change`.
struct PreservedChange {
    private let installID: InstallID
    /// After the step.
    private let generation: Int64
    let previousState: String
    // Of a superseded installation.
    private var token: String?
    private var tokenSHA256: [UInt8]?
    private var p256dh: String?
    private var auth: String?
    // Of an expired session.
    private var sessionID: String?
    private var sessionExpiresAt: Timestamp?
    private var credentialIssuedAt: PostgresTimestamp?
    private(set) var topicChoices = TopicChoices()

    /// Nil for a step that takes nothing away, or everything.
    ///
    /// - Parameter row: of `CleanUpStatements.batch`.
    init?(_ change: StateChange, _ row: PostgresRow, _ step: CleanUpStep) throws {
        guard step == .superseded || step == .sessionEnded else { return nil }
        var reader = ColumnReader(row, from: StateChange.columnCount)
        (installID, generation, previousState) = (change.installID, change.generation, try reader.next())
        if step == .superseded {
            (token, p256dh, auth) = (try reader.next(), try reader.next(), try reader.next())
            tokenSHA256 = change.tokenSHA256
        } else {
            (sessionID, credentialIssuedAt) = (try reader.next(), try reader.next())
            topicChoices = try reader.nextChoices()
            sessionExpiresAt = change.sessionExpiresAt
        }
    }

    static let rows = BatchColumns<PreservedChange>(
        [.init("install_id", "text") { $0.installID.rawValue }] + kept)
    /// The columns besides the key, the run and the step.
    static let columns = BatchColumns<PreservedChange>(kept).list

    private static let kept: [BatchColumns<PreservedChange>.Column] = [
        .init("generation", "bigint") { $0.generation },
        .init("previous_state", "text", cast: "installation_state") { $0.previousState },
        .init("token", "text") { $0.token },
        .init("token_sha256", "bytea") { $0.tokenSHA256 },
        .init("p256dh", "text") { $0.p256dh },
        .init("auth", "text") { $0.auth },
        .init("session_id", "text") { $0.sessionID },
        .init("session_expires_at", "timestamptz") { $0.sessionExpiresAt?.postgres },
        .init("credential_issued_at", "timestamptz") { $0.credentialIssuedAt },
        .init("topic_choices", choices: { $0.topicChoices }),
    ]

    static func statement(
        _ changes: [PreservedChange], in app: AppNumber, run: Int32, _ step: CleanUpStep
    ) -> PostgresStatement {
        PostgresStatement(CleanUpStatements.preserve) { binds in
            binds.bind(app.rawValue)
            binds.bind(run)
            binds.bind(step.rawValue)
            rows.bind(changes, to: &binds)
        }
    }
}
