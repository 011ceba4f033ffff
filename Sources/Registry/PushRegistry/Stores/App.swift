/// An app with its policy and its topics. A reference: each call of the app has one, and copying its values would copy
/// dozens of texts.
public final class App: Sendable {
    public let number: AppNumber
    public let id: AppID
    public let policy: AppPolicy
    /// Identifies the stored policy, for conditional changes: every change gives it a new value. Empty outside of a
    /// directory.
    public let revision: String
    /// The newest last, which signs; the older ones verify. Empty outside of a directory.
    public let signingKeys: [AppSigningKey]
    /// The key of names that must never change, such as the hash of an installation id. Empty outside of a directory.
    public let identityKey: AppIdentityKey
    public let topics: TopicCatalogue

    public init(
        number: AppNumber, id: AppID, policy: AppPolicy, revision: String = "", signingKeys: [AppSigningKey] = [],
        identityKey: AppIdentityKey = AppIdentityKey(bytes: []), topics: TopicCatalogue = TopicCatalogue()
    ) {
        self.number = number
        self.id = id
        self.policy = policy
        self.revision = revision
        self.signingKeys = signingKeys
        self.identityKey = identityKey
        self.topics = topics
    }
}

/// An app whose stored policy this version of the service cannot use. Other apps are not affected.
public struct UnusableApp: Sendable {
    public let number: AppNumber
    public let id: AppID
    public let revision: String
    /// The fault of the policy. It contains names of members, never values.
    public let reason: String

    public init(number: AppNumber, id: AppID, revision: String, reason: String) {
        self.number = number
        self.id = id
        self.revision = revision
        self.reason = reason
    }
}

/// An app that is being deleted. To all calls but those that report this, it does not exist.
public struct DeletingApp: Sendable {
    public let number: AppNumber
    public let id: AppID
    /// When the deletion began.
    public let since: Timestamp

    public init(number: AppNumber, id: AppID, since: Timestamp) {
        self.number = number
        self.id = id
        self.since = since
    }
}
