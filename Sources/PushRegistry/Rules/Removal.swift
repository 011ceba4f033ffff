/// What a caller asks for by `DELETE …/installations/{installId}`.
public struct Removal: Sendable {
    public let key: InstallationKey
    public let requester: Requester
    public let precondition: Precondition?
    /// Who asked: the role and the key's id, never the user.
    public let actor: String

    public init(key: InstallationKey, requester: Requester, precondition: Precondition?, actor: String) {
        self.key = key
        self.requester = requester
        self.precondition = precondition
        self.actor = actor
    }

    public enum Decision: Sendable {
        /// The installation goes, and this event tells it.
        case remove(TokenEvent)
        /// There is nothing to remove: the call is idempotent.
        case nothing
        case refuse(RemovalRefusal)
    }

    /// Decides on the installation as it is, locked.
    public func decision(on present: Installation?, at now: Timestamp) -> Decision {
        if let present, !requester.owns(installationOf: present.owner) { return .refuse(.notFound) }
        if precondition?.fails(on: present) == true {
            // Who may not read the record gets the same answer whether the installation exists or not.
            guard let generation = requester.visibleGeneration(of: present) else { return .refuse(.notFound) }
            return .refuse(.outdated(generation: generation))
        }
        guard let present else { return .nothing }
        var after = present
        after.generation += 1
        after.owner = nil
        return .remove(
            TokenEvent(
                .deleted, .deletedByCaller, by: actor, at: present.notBefore(now), from: present, to: after,
                previousUserID: present.owner?.userID))
    }
}

/// Why a removal was refused; nothing was changed.
public enum RemovalRefusal: Error, Hashable, Sendable {
    /// It is somebody else's.
    case notFound
    /// R8: `If-Match` does not hold. The present generation, or 0 where the installation is unknown.
    case outdated(generation: Int64)
}
