import Foundation

/// The state that outlives the process, apart from queued logouts. It contains no credential of a user, so it may be
/// read before the first unlock.
struct SavedState: Sendable, Hashable, Codable {
    typealias Topics = [String: Bool?]

    enum Account: String, Sendable, Codable {
        case anonymous, user, signedOut, signedOutElsewhere
    }

    /// The last registration that the registry acknowledged.
    struct Registration: Sendable, Hashable, Codable {
        var digest: UInt64
        /// The digest of user and session; nil if the registration was anonymous.
        var owner: UInt64?
        var at: Date
        var until: Date
    }

    /// A registration whose outcome is unknown: the registry may have applied it.
    struct Attempt: Sendable, Hashable, Codable {
        var digest: UInt64
        var owner: UInt64?
    }

    /// The values that fetch notifications without a user's credential.
    struct Delivery: Sendable, Hashable, Codable {
        var key: String?
        var epoch: String?
    }

    static let name = "state"

    var installID: String
    var fingerprint: String?
    var account = Account.anonymous
    var registration: Registration?
    var attempt: Attempt?
    var eTag: String?
    var delivery: Delivery?
    /// Choices that the registry has not acknowledged.
    var topics: Topics = [:]
    /// Choices that were made without a user. The first owner's registration repeats them, because the registry removes
    /// the choices on an installation when its owner changes.
    var anonymousTopics: Topics = [:]
    /// Tokens beside the one for alerts. Nil: the app has not reported any.
    var tokens: [ReportedToken]?
    /// The digest of the user of the last registration.
    var user: UInt64?

    init(installID: String) {
        self.installID = installID
    }

    /// An older version of the app has not written the members that were added since: they have their defaults, as an
    /// update must not lose the installation's identity. Members that are added to the types above must be optional.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        installID = try members.decode(String.self, forKey: .installID)
        fingerprint = try members.decodeIfPresent(String.self, forKey: .fingerprint)
        account = try members.decodeIfPresent(Account.self, forKey: .account) ?? account
        registration = try members.decodeIfPresent(Registration.self, forKey: .registration)
        attempt = try members.decodeIfPresent(Attempt.self, forKey: .attempt)
        eTag = try members.decodeIfPresent(String.self, forKey: .eTag)
        delivery = try members.decodeIfPresent(Delivery.self, forKey: .delivery)
        topics = try members.decodeIfPresent(Topics.self, forKey: .topics) ?? topics
        anonymousTopics = try members.decodeIfPresent(Topics.self, forKey: .anonymousTopics) ?? anonymousTopics
        // A later version may store kinds that this one does not know. They must not cost the identity.
        tokens = try? members.decodeIfPresent([ReportedToken].self, forKey: .tokens)
        user = try members.decodeIfPresent(UInt64.self, forKey: .user)
    }
}

/// A logout that the registry has not acknowledged. It is kept until the registry responds: the phone's clock may be
/// wrong, so the registry decides whether it is too late.
struct QueuedLogout: Sendable, Hashable, Codable {
    static let name = "logouts"
    /// The most queued logouts. If more users sign out offline, the oldest logout is dropped.
    static let countMax = 16

    var id = UUID()
    /// The installation to log out. This phone may be another one by now.
    var installID: String
    /// The JWT of the user who logs out. Nil: the publishable key.
    var credential: String?
    /// With it, the publishable key logs an owner out.
    var deliveryKey: String?
    var eTag: String?
    /// Whether the outcome of a registration is unknown, so that the generation may be higher than `eTag`.
    var isUncertain: Bool
    var keepAnonymous: Bool

    var ifMatch: String? { isUncertain ? nil : eTag }
}

extension QueuedLogout {
    /// As for `SavedState`: an update must not lose a logout.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try members.decodeIfPresent(UUID.self, forKey: .id) ?? UUID(),
            installID: try members.decode(String.self, forKey: .installID),
            credential: try members.decodeIfPresent(String.self, forKey: .credential),
            deliveryKey: try members.decodeIfPresent(String.self, forKey: .deliveryKey),
            eTag: try members.decodeIfPresent(String.self, forKey: .eTag),
            isUncertain: try members.decodeIfPresent(Bool.self, forKey: .isUncertain) ?? false,
            keepAnonymous: try members.decodeIfPresent(Bool.self, forKey: .keepAnonymous) ?? false)
    }
}
