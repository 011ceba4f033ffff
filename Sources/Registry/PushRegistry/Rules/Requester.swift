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
    /// read the record (fine print 6, 15, 19). A generation is a proof: with the publishable key and the current
    /// generation, a client can log out an owned installation.
    func visibleGeneration(of present: Installation?) -> Int64? {
        guard let present else { return self == .service ? 0 : nil }
        return owns(installationOf: present.owner) ? present.generation : nil
    }
}
