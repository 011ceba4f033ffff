import PostgresClient
import PushRegistry

/// The changes of one transaction in the roll-up, summed by cell and session expiry: of all installations, and of those
/// with a choice about a topic.
package struct RollUpDelta: Sendable {
    struct Key: Hashable {
        /// As `TopicChoices` codes a choice; 0 for all installations.
        let topic: Int32
        let cell: Int64
        /// Of an active installation in a session that expires.
        let expiresAt: Timestamp?
    }

    struct Change: Hashable {
        /// Of installations whose state is `active`.
        var active: Int64 = 0
        var installations: Int64 = 0
    }

    private(set) var changes: [Key: Change] = [:]

    package init() {}

    /// Adds an installation to its cell, or removes it.
    mutating func add(_ installation: Installation, in cell: Int64, step: Int64) {
        let isActive = installation.state == .active
        add(
            Change(active: isActive ? step : 0, installations: step), in: cell,
            expiringAt: isActive ? installation.owner?.session?.expiresAt : nil, topics: installation.topics)
    }

    /// Adds an active installation, or removes it.
    package mutating func addActive(
        in cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices, step: Int64 = 1
    ) {
        add(Change(active: step, installations: step), in: cell, expiringAt: expiresAt, topics: topics)
    }

    private mutating func add(
        _ change: Change, in cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices
    ) {
        add(change, to: 0, in: cell, expiringAt: expiresAt)
        guard !topics.isEmpty else { return }
        for topic in topics.codes { add(change, to: topic, in: cell, expiringAt: expiresAt) }
    }

    private mutating func add(_ change: Change, to topic: Int32, in cell: Int64, expiringAt expiresAt: Timestamp?) {
        let key = Key(topic: topic, cell: cell, expiresAt: expiresAt)
        changes[key, default: Change()].active += change.active
        changes[key, default: Change()].installations += change.installations
    }

    /// Nil where all changes cancel out.
    package func statement(in app: AppNumber) -> PostgresStatement? {
        let rows = changes.filter { $0.value != Change() }
        guard !rows.isEmpty else { return nil }
        return RollUpDeltaStatements.append(
            app.rawValue, rows.map(\.key.topic), rows.map(\.key.cell), rows.map { $0.key.expiresAt?.postgres },
            rows.map(\.value.active), rows.map(\.value.installations))
    }
}
