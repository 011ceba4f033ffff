import PostgresClient
import PushRegistry

/// Users in PostgreSQL. One lives on each event loop.
public struct PostgresUserStore: UserStore {
    /// How often a transaction is tried that loses races.
    static let attemptsMax = 20

    let postgres: PostgresClient
    private let logouts: LogoutCoalescer

    public init(postgres: PostgresClient) {
        self.postgres = postgres
        logouts = LogoutCoalescer(postgres: postgres)
    }

    /// Carries logouts of installations until it is cancelled.
    public func run() async {
        await logouts.run()
    }

    public func logOut(_ logout: Logout) async throws -> (status: Logout.Status, generation: Int64?) {
        try await logouts.logOut(logout)
    }

    public func end(_ end: SessionEnd) async throws -> Int {
        try await transaction { transaction in
            let results = try await transaction.execute(locks(end) + [PostgresStatement(RegistrationStatements.now)])
            let now = Timestamp(try results[results.count - 1][0].decode(0, as: PostgresTimestamp.self))
            let installations = try results[results.count - 2].map { try InstallationColumns.decode($0) }
            let outcomes = installations.compactMap { end.outcome(for: $0, at: now) }
            if !outcomes.isEmpty {
                try await transaction.commit(after: [
                    endSessions(end.sessions(of: installations), in: end.app),
                    UserStatements.unbinding(outcomes.map(\.after)),
                    append(outcomes.map(\.event)),
                ])
                EventMeters.count(outcomes.map(\.event))
            }
            return outcomes.count
        }
    }

    /// Ends the sessions, which nobody can begin a binding under from then on, and only then locks what is bound.
    private func locks(_ end: SessionEnd) -> [PostgresStatement] {
        let app = end.app.rawValue
        switch end.scope {
        case .session(let id):
            return [
                endSessions([id], in: end.app),
                PostgresStatement(UserStatements.lockOfSession, app, id.rawValue),
            ]
        case .user(let userID, let kept):
            return endSessions(of: userID, in: end.app, except: kept)
                + [PostgresStatement(UserStatements.lockOfUser, app, userID.rawValue)]
        }
    }

    private func endSessions(_ ids: Set<SessionID>, in app: AppNumber) -> PostgresStatement {
        PostgresStatement(GuardStatements.endSessions, app.rawValue, ids.map(\.rawValue))
    }

    private func endSessions(of userID: UserID, in app: AppNumber, except kept: SessionID?) -> [PostgresStatement] {
        var statements = [
            PostgresStatement(GuardStatements.refuseUser, app.rawValue, userID.rawValue),
            PostgresStatement(GuardStatements.endSessionsOfUser, app.rawValue, userID.rawValue, kept?.rawValue),
        ]
        if let kept {
            statements.append(
                PostgresStatement(GuardStatements.keepSession, app.rawValue, userID.rawValue, kept.rawValue))
        }
        return statements
    }

    public func erase(_ erasure: Erasure) async throws -> Erasure.Receipt {
        try await transaction { transaction in
            let (app, userID) = (erasure.app.rawValue, erasure.userID.rawValue)
            let locked = try await transaction.execute(
                endSessions(of: erasure.userID, in: erasure.app, except: nil) + [
                    PostgresStatement(UserStatements.lockSeenWithUser, app, userID),
                    PostgresStatement(UserStatements.leftByUser, app, userID),
                    PostgresStatement(RegistrationStatements.now),
                ])
            let now = Timestamp(try locked[4][0].decode(0, as: PostgresTimestamp.self))
            let installations = try locked[3].map { try InstallationColumns.decode($0) }
            let events = installations.map { erasure.event(removing: $0, at: now) }
            let removed = try await transaction.commit(after: statements(erasing: installations, by: erasure, events))
            EventMeters.count(events)
            return Erasure.Receipt(
                installations: installations.count, snapshots: removed[2].affectedRows + removed[3].affectedRows,
                events: removed[4].affectedRows, erasedAt: now)
        }
    }

    private func statements(
        erasing installations: [Installation], by erasure: Erasure, _ events: [TokenEvent]
    ) -> [PostgresStatement] {
        let apps = installations.map(\.key.app.rawValue)
        let installIDs = installations.map(\.key.installID.rawValue)
        let sessions = Set(installations.compactMap(\.owner?.session?.id))
        return [
            endSessions(sessions, in: erasure.app),
            PostgresStatement(UserStatements.delete, apps, installIDs),
            PostgresStatement(UserStatements.deleteSnapshots, apps, installIDs),
            PostgresStatement(
                UserStatements.deleteSnapshotsOfUser, erasure.app.rawValue, erasure.userID.rawValue),
            PostgresStatement(UserStatements.forget, erasure.app.rawValue, erasure.userID.rawValue),
            append(events),
        ]
    }

    public func installations(
        of userID: UserID, in app: AppNumber, after: InstallID?, limit: Int
    ) async throws -> InstallationPage {
        do {
            let rows = try await postgres.execute(
                PostgresStatement(
                    UserStatements.list, app.rawValue, userID.rawValue, after?.rawValue ?? "", Int64(limit) + 1))
            let page = try rows.prefix(limit).map(InstallationRecord.init)
            return InstallationPage(
                installations: page, next: rows.count > limit ? page.last?.installation.key.installID : nil)
        } catch {
            throw StoreError(error)
        }
    }
}

// MARK: - Transactions

extension PostgresUserStore {
    /// Runs a transaction, again where it lost a race. Whatever is thrown leaves as a `StoreError`.
    private func transaction<Value>(_ body: (PostgresTransaction) async throws -> Value) async throws -> Value {
        var attempts = 1
        while true {
            do {
                return try await postgres.withTransaction(.readCommitted, body)
            } catch let error as PostgresError where error.isLostRace && attempts < Self.attemptsMax {
                attempts += 1
            } catch {
                throw StoreError(error)
            }
        }
    }

    private func append(_ events: [TokenEvent]) -> PostgresStatement {
        TokenEvent.batch.statement(RegistrationStatements.appendEvents, events)
    }
}
