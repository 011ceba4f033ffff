/// A key of an app for values that the service returns and later verifies. It never signs directly: for each purpose a
/// separate key is derived from it.
public struct AppSigningKey: Hashable, Sendable, Redacted {
    /// 1 and up, within its app. A signed value names it.
    public let number: Int16
    /// 32 random bytes.
    public let key: [UInt8]
    public let createdAt: Timestamp

    public init(number: Int16, key: [UInt8], createdAt: Timestamp) {
        self.number = number
        self.key = key
        self.createdAt = createdAt
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
