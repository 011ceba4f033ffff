import PostgresClient
import PushRegistry

/// The bindings to users that a transaction begins and ends, as rows of `installation_owner`. The installation's lock
/// protects its rows.
package struct OwnerChanges: Sendable {
    private var begun: [(installID: InstallID, owner: Owner)] = []
    private var ended: [(installID: InstallID, userID: UserID)] = []

    package init() {}

    mutating func add(from before: Installation?, to after: Installation) {
        add(from: before?.owner, to: after.owner, on: after.key.installID)
    }

    package mutating func add(from before: Owner?, to after: Owner?, on installID: InstallID) {
        if let before, before.userID != after?.userID { ended.append((installID, before.userID)) }
        guard let after, before?.userID != after.userID || before?.session?.id != after.session?.id else { return }
        begun.append((installID, after))
    }

    /// Nil if no binding begins.
    ///
    /// - Parameter number: of the transaction.
    package func begun(in app: AppNumber, number: Int64) -> PostgresStatement? {
        guard !begun.isEmpty else { return nil }
        return PostgresStatement(
            OwnerStatements.begin, app.rawValue, number, begun.map(\.owner.userID.rawValue),
            begun.map(\.installID.rawValue), begun.map { $0.owner.session?.id.rawValue })
    }

    /// Nil if no binding ends.
    func ended(in app: AppNumber, at now: Timestamp) -> PostgresStatement? {
        guard !ended.isEmpty else { return nil }
        return PostgresStatement(
            OwnerStatements.end, app.rawValue, now.postgres, ended.map(\.userID.rawValue),
            ended.map(\.installID.rawValue))
    }
}
