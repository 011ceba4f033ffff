/// On whose behalf somebody asks about, or changes, one installation.
public enum Requester: Hashable, Sendable {
    /// The app's back end.
    case service
    /// A client that proved to be this user.
    case user(UserID)
    /// A client with nothing but the app's publishable key.
    case anonymous

    /// Whether an installation of this owner is the requester's own: the service's are all, an anonymous client's those
    /// that nobody owns. Where it is not, the installation does not exist for the requester.
    public func owns(installationOf owner: Owner?) -> Bool {
        switch self {
        case .service: true
        case .user(let userID): owner?.userID == userID
        case .anonymous: owner == nil
        }
    }

    /// The generation that a refusal shows to this caller: 0 to a service if there is no installation, nil if the
    /// caller may not read the record (fine print 6, 15, 19). A generation is a proof: the publishable key and the
    /// present generation log out an owned installation.
    func visibleGeneration(of present: Installation?) -> Int64? {
        guard let present else { return self == .service ? 0 : nil }
        return owns(installationOf: present.owner) ? present.generation : nil
    }
}
