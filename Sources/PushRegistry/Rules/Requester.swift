/// On whose behalf somebody asks about, or changes, one installation.
public enum Requester: Hashable, Sendable {
    /// The app's back end.
    case service
    /// A client that proved to be this user.
    case user(UserID)
    /// A client with nothing but the app's publishable key.
    case anonymous

    /// Whether an installation of this owner is the requester's own: the service's are all, an anonymous client's those that
    /// nobody owns. Where it is not, the installation does not exist for the requester.
    public func owns(installationOf owner: Owner?) -> Bool {
        switch self {
        case .service: true
        case .user(let userID): owner?.userID == userID
        case .anonymous: owner == nil
        }
    }
}
