/// A change that a person, a program or a command has made: who, and what. It has the names of changed members and
/// never their values; it has no token, no credential and no user.
///
/// A change writes its entry in its transaction: neither is without the other. A change of several transactions
/// (`feedbackReleased`, `feedbackRestored`, `cleanUpUndone`) writes it in the first one that changes something. An
/// erasure (`userErased`) writes it right after the last one: if that fails, so does the call, and a repeated call adds
/// the entry. In no case is there an entry of a change that was not made.
public struct AuditEntry: Hashable, Sendable {
    /// Clients read these codes.
    public enum Action: String, CaseIterable, Sendable {
        case appCreated = "app.created"
        case appDeleted = "app.deleted"
        case policyChanged = "policy.changed"
        case policyReplaced = "policy.replaced"
        case keyCreated = "key.created"
        case keyRevoked = "key.revoked"
        case segmentSaved = "segment.saved"
        case segmentDeleted = "segment.deleted"
        case topicSaved = "topic.saved"
        case topicDeleted = "topic.deleted"
        case userErased = "user.erased"
        case feedbackReleased = "feedback.released"
        case feedbackRestored = "feedback.restored"
        case cleanUpUndone = "cleanup.undone"
    }

    /// An `Action`, or one that a newer version of the service has written.
    public let action: String
    /// What was changed: the id of an app or a key, the name of a segment, a topic or a provider, the number of a run;
    /// of an erasure the id of its receipt.
    public let target: String
    public let members: [String]
    /// A role and a key's id, `person:` and the `sub` of a person in the console, `admin` for the admin key, or `cli:`
    /// and the user of the system.
    public let actor: String
    /// The name of a person in the console, at that time; nil for a key and a command.
    public let person: String?
    /// The roles of the actor; empty for a command.
    public let roles: [String]
    /// Nil for a command.
    public let requestID: String?

    public init(
        _ action: String, _ target: String, members: [String] = [], actor: String, person: String? = nil,
        roles: [String] = [], requestID: String? = nil
    ) {
        (self.action, self.target, self.members, self.actor) = (action, target, members, actor)
        (self.person, self.roles, self.requestID) = (person, roles, requestID)
    }
}

/// An entry as it was written.
public struct RecordedAuditEntry: Sendable {
    /// Grows with each entry.
    public let number: Int64
    public let at: Timestamp
    public let entry: AuditEntry

    public init(number: Int64, at: Timestamp, entry: AuditEntry) {
        (self.number, self.at, self.entry) = (number, at, entry)
    }
}

/// Stores who changed what.
///
/// - Throws: every call throws `StoreError`.
public protocol AuditStore: Sendable {
    /// Adds the entry of an erasure.
    func record(_ entry: AuditEntry, of app: AppNumber) async throws

    /// One page, the newest first.
    ///
    /// - Parameters:
    ///   - app: nil for the entries of no app: deletions of apps, and undone clean-ups.
    ///   - action, actor: exactly these; nil: all.
    ///   - before: the number of the last entry of the previous page.
    func entries(
        of app: AppNumber?, action: AuditEntry.Action?, actor: String?, before: Int64?, limit: Int
    ) async throws -> [RecordedAuditEntry]
}
