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
        (self.number, self.id, self.policy, self.revision) = (number, id, policy, revision)
        (self.signingKeys, self.identityKey, self.topics) = (signingKeys, identityKey, topics)
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
        (self.number, self.id, self.revision, self.reason) = (number, id, revision, reason)
    }
}

/// An app that is being deleted. To all calls but those that report this, it does not exist.
public struct DeletingApp: Sendable {
    public let number: AppNumber
    public let id: AppID
    /// When the deletion began.
    public let since: Timestamp

    public init(number: AppNumber, id: AppID, since: Timestamp) {
        (self.number, self.id, self.since) = (number, id, since)
    }
}

/// A key of an app for values that the service returns and later verifies. It never signs directly: for each purpose a
/// separate key is derived from it.
public struct AppSigningKey: Hashable, Sendable, Redacted {
    /// 1 and up, within its app. A signed value names it.
    public let number: Int16
    /// 32 random bytes.
    public let key: [UInt8]
    public let createdAt: Timestamp

    public init(number: Int16, key: [UInt8], createdAt: Timestamp) {
        (self.number, self.key, self.createdAt) = (number, key, createdAt)
    }

    /// The number and the time tell nearly all keys apart, and hashing takes longer than comparing.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(number)
        hasher.combine(createdAt)
    }
}

/// A key of an app that is never replaced. It is never used itself, either.
public struct AppIdentityKey: Hashable, Sendable, Redacted {
    /// 32 random bytes.
    public let bytes: [UInt8]

    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }
}
