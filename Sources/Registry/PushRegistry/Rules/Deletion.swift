/// The deletion of an installation: `DELETE …/installations/{installId}`.
public struct Deletion: Sendable {
    public let key: InstallationKey
    public let requester: Requester
    /// The user and session of a JWT; nil for a key.
    public let credential: UserCredential?
    /// How long tombstones of ended sessions are kept.
    public let sessionTombstones: ISO8601Duration
    public let precondition: Precondition?
    /// The caller's role and key id, never the user.
    public let actor: String

    public init(
        key: InstallationKey, requester: Requester, credential: UserCredential? = nil,
        sessionTombstones: ISO8601Duration = ISO8601Duration(seconds: 0), precondition: Precondition?, actor: String
    ) {
        (self.key, self.requester, self.credential) = (key, requester, credential)
        (self.sessionTombstones, self.precondition, self.actor) = (sessionTombstones, precondition, actor)
    }

    public enum Decision: Sendable {
        /// Delete the installation and record this event.
        case delete(TokenEvent)
        /// The installation does not exist: the call is idempotent.
        case nothing
        case refuse(DeletionRefusal)
    }

    /// - Parameter present: the locked row; nil if it does not exist.
    public func decision(on present: Installation?, at now: Timestamp) -> Decision {
        if let present, !requester.owns(installationOf: present.owner) { return .refuse(.notFound) }
        if precondition?.fails(on: present) == true {
            // A caller that may not read the record gets the same response whether or not the installation exists.
            guard let generation = requester.visibleGeneration(of: present) else { return .refuse(.notFound) }
            return .refuse(.outdated(generation: generation))
        }
        guard let present else { return .nothing }
        var after = present
        after.generation += 1
        after.owner = nil
        return .delete(
            TokenEvent(
                .deleted, .deletedByCaller, by: actor, at: present.notBefore(now), from: present, to: after,
                previousUserID: present.owner?.userID))
    }
}

/// Why a deletion was refused. Nothing was changed.
public enum DeletionRefusal: Error, Hashable, Sendable {
    /// The installation belongs to another user.
    case notFound
    /// R7: a logout has ended the credential.
    case credentialEnded
    /// R8: `If-Match` failed. The current generation; 0 if the installation does not exist.
    case outdated(generation: Int64)
}
