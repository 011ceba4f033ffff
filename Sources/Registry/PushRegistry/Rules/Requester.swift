/// The party that reads or changes an installation.
public enum Requester: Hashable, Sendable {
    /// The app's back end.
    case service
    /// A client that proved to be this user.
    case user(UserID)
    /// A client that has only the app's publishable key.
    case anonymous

    /// Whether the requester may access an installation of this owner: a service all, an anonymous client those without
    /// an owner. Other installations do not exist for the requester.
    public func owns(installationOf owner: Owner?) -> Bool {
        switch self {
        case .service: true
        case .user(let userID): owner?.userID == userID
        case .anonymous: owner == nil
        }
    }

    /// The generation that a refusal shows: 0 for a service if there is no installation, nil if the requester may not
    /// read the record (fine print 6, 15, 19).
    func visibleGeneration(of present: Installation?) -> Int64? {
        guard let present else { return self == .service ? 0 : nil }
        return owns(installationOf: present.owner) ? present.generation : nil
    }
}

/// The delivery key that a client with the publishable key has sent (fine print 10, 15). It proves that the client had
/// the response to a registration of the present owner.
public struct DeliveryProof: Sendable {
    private let isOfEpoch: @Sendable (Int64) -> Bool

    /// - Parameter isOfEpoch: whether the key is that of the installation's epoch that began at this generation.
    public init(isOfEpoch: @escaping @Sendable (Int64) -> Bool) {
        self.isOfEpoch = isOfEpoch
    }

    /// Whether it is the present delivery key, and the owner's session has not expired.
    func holds(for present: Installation?, at now: Timestamp) -> Bool {
        guard let present, isOfEpoch(present.epoch) else { return false }
        return present.owner?.session?.expiresAt.map { now < $0 } ?? true
    }
}
