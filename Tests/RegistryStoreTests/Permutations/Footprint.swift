import Basics

/// The tables that a statement reads, locks and writes, by the words of its text. Two statements of different
/// transactions whose order makes no difference are independent.
struct Footprint: Sendable {
    var read: Set<String> = []
    /// Tables whose rows it locks, also by writing them.
    var locked: Set<String> = []
    var written: Set<String> = []
    /// Whether it makes visible what its transaction has written.
    var isCommit = false

    /// The time and the newest transactions, which a commit changes.
    private static let moment = "moment"
    private static let momentWords: Set<String> = [
        "clock_timestamp", "statement_timestamp", "now", "pg_current_snapshot", "pg_snapshot_xmin", "pg_snapshot_xmax",
    ]
    private static let tables: Set<String> = [
        "app", "topic", "directory_version", "registry_clock", "installation", "token_holder", "installation_owner",
        "user_guard", "session", "installation_logout", "token_event", "settings_snapshot", "rollup_delta",
        "rollup_cell", "rollup_text", "cleanup_result", "cleanup_run", "notification",
        "notification_counter", "notification_dedup", "receipt", "message", "typed_token", "feedback_breaker",
    ]
    /// Their rows have no key that two transactions may insert.
    private static let logs: Set<String> = ["token_event", "settings_snapshot", "rollup_delta"]
    private static let known = Locked<[String: Footprint]>([:])

    static func of(_ text: String) -> Footprint {
        if let known = known.withLock({ $0[text] }) { return known }
        let footprint = Footprint(text)
        known.withLock { $0[text] = footprint }
        return footprint
    }

    private init(_ text: String) {
        isCommit = text == "COMMIT"
        let words = text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
        for (index, word) in words.enumerated() {
            if Self.momentWords.contains(word) { read.insert(Self.moment) }
            guard Self.tables.contains(word) else { continue }
            read.insert(word)
            let verb = words[max(0, index - 2)..<index]
            if verb.last == "UPDATE" || verb == ["DELETE", "FROM"] {
                written.insert(word)
                locked.insert(word)
            } else if verb == ["INSERT", "INTO"] || verb.last == "COPY" {
                written.insert(word)
                if !Self.logs.contains(word) { locked.insert(word) }
            }
        }
        let pairs = zip(words, words.dropFirst())
        if pairs.contains(where: { $0 == "FOR" && ["UPDATE", "SHARE", "KEY", "NO"].contains($1) }) {
            locked.formUnion(read.subtracting([Self.moment]))
        }
    }

    /// The statements of a transaction so far, and then its commit.
    mutating func add(_ statement: Footprint) {
        locked.formUnion(statement.locked)
        written.formUnion(statement.written)
        if !statement.written.isEmpty { written.insert(Self.moment) }
    }

    func committing(_ transaction: Footprint) -> Footprint {
        guard isCommit else { return self }
        var commit = transaction
        commit.isCommit = true
        return commit
    }

    func depends(on other: Footprint) -> Bool {
        switch (isCommit, other.isCommit) {
        case (false, false): return !locked.isDisjoint(with: other.locked)
        case (true, false): return !visible.isDisjoint(with: other.read.union(other.locked))
        case (false, true): return !other.visible.isDisjoint(with: read.union(locked))
        case (true, true): return false
        }
    }

    private var visible: Set<String> { written.union(locked) }
}
