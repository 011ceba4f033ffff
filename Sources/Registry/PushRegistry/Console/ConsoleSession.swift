import Basics

/// A person who is signed in to the console, in one browser.
///
/// It ends when nobody has used it for `idleMax`, and at the latest `ageMax` after the sign-in.
public struct ConsoleSession: Hashable, Sendable {
    public static let idleMax = ISO8601Duration(seconds: 30 * 60)
    public static let ageMax = ISO8601Duration.hours(12)
    /// How long the store keeps a session after its last use. While it does, the cookie of an ended session does not
    /// count as a failed authentication.
    public static let keptFor = ISO8601Duration.hours(7 * 24)
    /// A use is recorded only if the recorded one is older.
    public static let useInterval = ISO8601Duration(seconds: 60)

    /// What the person signed in with. The session ends when it is no longer valid.
    public enum Credential: Hashable, Sendable {
        /// The id of an API key.
        case key(String)
        /// The admin key. The proof shows that it is the configured one.
        case adminKey(proof: [UInt8])
        /// The account at the identity provider of the console, and the digest of the sign-in there.
        case person(ConsolePerson, signIn: [UInt8])
    }

    public let credential: Credential
    public let createdAt: Timestamp
    /// To the minute.
    public let lastUsedAt: Timestamp

    public init(_ credential: Credential, createdAt: Timestamp, lastUsedAt: Timestamp) {
        (self.credential, self.createdAt, self.lastUsedAt) = (credential, createdAt, lastUsedAt)
    }

    /// A session that begins now.
    public init(_ credential: Credential, at now: Timestamp) {
        self.init(credential, createdAt: now, lastUsedAt: now)
    }

    public var expiresAt: Timestamp { createdAt.advanced(by: Self.ageMax) }

    /// The end of the session if it is not used again.
    public var idleUntil: Timestamp { min(lastUsedAt.advanced(by: Self.idleMax), expiresAt) }

    public func isAlive(at now: Timestamp) -> Bool { now < idleUntil }

    /// Whether a use is to be recorded.
    public func needsRecord(ofUseAt now: Timestamp) -> Bool { lastUsedAt.advanced(by: Self.useInterval) <= now }
}

/// A person whom the identity provider of the console has signed in.
public struct ConsolePerson: Hashable, Sendable {
    public static let groupsMax = 1_000
    public static let groupScalarsMax = 256

    /// The provider's `iss`: another provider's `subject` is somebody else.
    public let issuer: String
    /// The provider's `sub`: 1 to 128 visible ASCII characters.
    public let subject: String
    /// For people to read.
    public let name: String
    /// What the provider said at the sign-in.
    public let groups: [ExactText]

    public init(issuer: String, subject: String, name: String, groups: [ExactText]) {
        (self.issuer, self.subject, self.name, self.groups) = (issuer, subject, name, groups)
    }
}

extension AppPolicy {
    /// What the groups of a person give on the app.
    public func roles(of person: ConsolePerson) -> Set<Role> {
        consoleGroups.isEmpty ? [] : Set(person.groups.compactMap { consoleGroups[$0] })
    }
}

/// Stores sessions of the console by the SHA-256 of the cookie's value.
///
/// - Throws: every call throws `StoreError`.
public protocol ConsoleSessionStore: Sendable {
    /// Adds a session. Of the sessions of its key or person, only the `sessionsMax` that were used last stay.
    ///
    /// - Returns: false if the sign-in at the identity provider has a session already; then nothing is added.
    @discardableResult
    func add(_ session: ConsoleSession, sha256: [UInt8]) async throws -> Bool

    /// The stored session, which may have ended.
    func session(_ sha256: [UInt8]) async throws -> ConsoleSession?

    func recordUse(of sha256: [UInt8], at time: Timestamp) async throws

    func remove(_ sha256: [UInt8]) async throws
}
