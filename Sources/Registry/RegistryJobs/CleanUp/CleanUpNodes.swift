import PostgresClient
import PushRegistry

/// The nodes of Citus during a run: a run continues without the apps whose node does not respond, and reports them. The
/// next run cleans them up. On plain PostgreSQL every failure ends the run.
///
/// Used on the thread of the run's session only.
final class CleanUpNodes {
    /// Why history, which lies on all nodes, was not kept.
    private(set) var historyFault: String?
    private var faults: [AppNumber: String] = [:]
    let isDistributed: Bool

    init(_ session: PostgresSession) throws {
        isDistributed = try Distribution.exists(session)
    }

    /// Also sets the session up.
    static func beginning(_ session: PostgresSession) throws -> CleanUpNodes {
        let nodes = try CleanUpNodes(session)
        try session.run(script: CleanUpStatements.sessionSettings)
        if nodes.isDistributed { try session.run(script: CleanUpStatements.sessionSettingsOnCitus) }
        return nodes
    }

    var hasFaults: Bool { !faults.isEmpty || historyFault != nil }

    func fault(of app: AppNumber) -> String? { faults[app] }

    /// Runs `body`, which concerns these apps of one node.
    ///
    /// - Returns: nil if their node does not respond, or did not before.
    @discardableResult
    func with<Value>(_ apps: [AppNumber], _ body: () throws -> Value) throws -> Value? {
        guard !apps.contains(where: { faults[$0] != nil }) else { return nil }
        do {
            return try body()
        } catch let error where isDistributed && error.isOfOtherNode {
            for app in apps { faults[app] = String(describing: error) }
            return nil
        }
    }

    /// Runs `body`, which concerns history on all nodes.
    ///
    /// - Returns: nil if a node is not reachable.
    func withHistory<Value>(_ body: () throws -> Value?) throws -> Value? {
        do {
            return try body()
        } catch let error where isDistributed && error.isOfOtherNode {
            historyFault = String(describing: error)
            return nil
        }
    }
}

extension Error {
    /// Whether the coordinator reports that another node is not reachable, or has not responded within the session's
    /// `statement_timeout`. The session itself goes on.
    var isOfOtherNode: Bool {
        guard let error = self as? PostgresError else { return false }
        return error.kind == .queryCancelled || error.sqlState?.hasPrefix("08") == true
    }
}
