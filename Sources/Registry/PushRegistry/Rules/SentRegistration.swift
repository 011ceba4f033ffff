import Basics

/// A registration as it was sent. Most have the same bytes as the last one of their installation, and nothing of them
/// must be read then (R2).
public final class SentRegistration: Sendable {
    public let key: InstallationKey
    public let claim: RegistrationClaim
    /// Whether it may have choices about topics. The digest says nothing about them: others may have changed since.
    public let mayHaveTopics: Bool
    /// Two registrations of one installation with the same digest have the same values.
    public let digest: [UInt8]
    private let reading: @Sendable () throws -> Registration

    /// - Parameters:
    ///   - digest: of ``digest(of:by:reading:sha256:)``.
    ///   - reading: reads the bytes.
    public init(
        on key: InstallationKey, by claim: RegistrationClaim, mayHaveTopics: Bool, digest: [UInt8],
        reading: @escaping @Sendable () throws -> Registration
    ) {
        (self.key, self.claim) = (key, claim)
        (self.mayHaveTopics, self.digest, self.reading) = (mayHaveTopics, digest, reading)
    }

    /// Reads it.
    ///
    /// - Throws: the faults of its bytes.
    public func read() throws -> Registration { try reading() }

    /// The digest of a body and of all else that its values depend on.
    ///
    /// - Parameters:
    ///   - keepingOwner: whether a delivery key keeps the present owner.
    ///   - rules: how the service reads bodies.
    ///   - sha256: the hash function.
    public static func digest(
        of body: [UInt8], by owner: Owner?, keepingOwner: Bool = false, reading rules: ReadingRules,
        sha256: ([UInt8]) -> [UInt8]
    ) -> [UInt8] {
        var bytes = CanonicalBytes(version: ReadingRules.version)
        bytes.append(keepingOwner ? "delivery key" : nil)
        bytes.append(rules.storesAdvertisingID ? "advertisingId" : nil)
        bytes.append(rules.zonesVersion)
        bytes.append(owner?.userID.rawValue)
        bytes.append(owner?.session?.id.rawValue)
        bytes.append(owner?.session?.expiresAt?.microseconds ?? -1)
        if mayBeWebPush(body) { bytes.append(rules.webPushHosts.entries.joined(separator: " ")) }
        bytes.append(body)
        return Array(sha256(bytes.bytes).prefix(Registration.digestBytes))
    }

    /// Whether the provider may be Web Push, found without reading the text: an escape such as `\u0050` may hide it.
    /// Other bodies do not depend on the list of hosts.
    private static func mayBeWebPush(_ body: [UInt8]) -> Bool {
        body.withUnsafeBytes { $0.contains("webPush", rare: 3) || $0.contains(#"\u"#, rare: 0) }
    }

    /// What decides which values the service reads from a body.
    public struct ReadingRules: Sendable {
        /// The version of the service's own code. Increment it with each change by which the same body has other
        /// values, so that the next registration of each installation is read again.
        static let version: UInt8 = 4

        let storesAdvertisingID: Bool
        let webPushHosts: WebPushHosts
        let zonesVersion: String

        /// - Parameter links: they replace names of time zones.
        public init(storesAdvertisingID: Bool, webPushHosts: WebPushHosts = WebPushHosts(), links: TimeZoneLinks) {
            (self.storesAdvertisingID, self.webPushHosts) = (storesAdvertisingID, webPushHosts)
            zonesVersion = links.version
        }
    }
}

/// The digest of an installation's last registration, as its row stores it. Behind the digest of one that brought typed
/// tokens stand eight bytes: how many of them were left out, and when the first of the others expires, in microseconds
/// since 1970. Empty: the installation was imported.
public enum StoredDigest {
    /// Equal to that of no registration: the set of typed tokens has changed since.
    public static let outdated: [UInt8] = [0]

    private static let never = Int64.max >> 8

    /// - Parameters:
    ///   - expiry: of the first token of the set that expires.
    ///   - expired: the number of sent tokens that had expired; at most 255.
    public static func bytes(_ digest: [UInt8], expiry: Timestamp?, expired: Int) -> [UInt8] {
        let end = UInt64(min(max(0, expiry?.microseconds ?? never), never))
        return digest + withUnsafeBytes(of: (UInt64(expired) << 56 | end).bigEndian) { Array($0) }
    }

    public enum Match: Hashable, Sendable {
        /// The last registration had other bytes, or its set of typed tokens has changed or expired since.
        case none
        case same
        /// The same, with a set of which so many tokens were left out.
        case sameTokens(expired: Int)

        public var isSame: Bool { self != .none }

        public var expired: Int? { if case .sameTokens(let expired) = self { expired } else { nil } }
    }

    /// Compares a stored digest with that of a registration.
    public static func match(_ stored: UnsafeRawBufferPointer, _ digest: [UInt8], at now: Timestamp) -> Match {
        guard stored.count >= digest.count, stored.prefix(digest.count).elementsEqual(digest) else { return .none }
        if stored.count == digest.count { return .same }
        guard stored.count == digest.count + 8 else { return .none }
        let end = stored.dropFirst(digest.count + 1).reduce(0) { $0 << 8 | Int64($1) }
        return now.microseconds < end || end == never ? .sameTokens(expired: Int(stored[digest.count])) : .none
    }
}

/// For whom a registration was sent, and under which condition.
public struct RegistrationClaim: Sendable {
    /// How far the caller decides about the owner.
    public enum Authority: Sendable {
        /// A user's JWT or the app's back end: the installation gets the owner of the claim, or none.
        case owner
        /// The publishable key, with the delivery key that was sent beside it.
        case publishableKey(DeliveryProof?)
    }

    public let owner: Owner?
    private let authority: Authority
    /// The `iat` of the caller's JWT; nil if there is none.
    public let credentialIssuedAt: Timestamp?
    public let precondition: Precondition?
    private let touchInterval: ISO8601Duration

    public init(
        of app: App, owner: Owner?, by authority: Authority = .owner, credentialIssuedAt: Timestamp? = nil,
        precondition: Precondition? = nil
    ) {
        (self.owner, self.authority, self.credentialIssuedAt) = (owner, authority, credentialIssuedAt)
        self.precondition = precondition
        touchInterval = app.policy.touchInterval
    }

    /// Whether a delivery key is to keep the present owner and session.
    public var keepsOwner: Bool {
        if case .publishableKey(.some) = authority { true } else { false }
    }

    /// Whether the publishable key may change the installation only with a proof (fine print 10).
    ///
    /// - Parameter isOwned: whether it has an owner.
    public func needsProof(isOwned: Bool) -> Bool {
        guard case .publishableKey(let proof) = authority else { return false }
        return isOwned || proof != nil
    }

    /// Whether a session's stored expiry is later than that of the caller's JWT, which arrived late and shortens no
    /// session (fine print 13). A back end may shorten one.
    public func isOutlived(by expiry: Timestamp?) -> Bool {
        guard credentialIssuedAt != nil, let expiry, let sent = owner?.session?.expiresAt else { return false }
        return sent < expiry
    }

    /// The same claim for the owner that a locked installation keeps or loses (fine print 10), or for the later expiry
    /// of its session.
    ///
    /// - Parameter bringsToken: whether the registration has the installation's present token.
    /// - Throws: `RegistrationRefusal.owned` without a proof.
    func resolved(
        on present: Installation?, bringsToken: Bool, at now: Timestamp
    ) throws(RegistrationRefusal) -> RegistrationClaim {
        guard case .publishableKey(let proof) = authority else {
            let session = present?.owner?.session
            guard owner?.isSame(as: present?.owner) == true, isOutlived(by: session?.expiresAt) else { return self }
            return RegistrationClaim(owner: present?.owner, replacing: self)
        }
        if let proof {
            guard proof.holds(for: present, at: now) else { throw .owned }
            return RegistrationClaim(owner: present?.owner, replacing: self)
        }
        guard present?.owner == nil || present?.tokenSHA256 == nil || bringsToken else { throw .owned }
        return self
    }

    private init(owner: Owner?, replacing claim: RegistrationClaim) {
        (self.owner, authority) = (owner, claim.authority)
        (credentialIssuedAt, precondition) = (claim.credentialIssuedAt, claim.precondition)
        touchInterval = claim.touchInterval
    }

    /// R2: whether `lastSeenAt` is old enough to be updated.
    func isTouchDue(since lastSeenAt: Timestamp, at now: Timestamp) -> Bool {
        now.microseconds - lastSeenAt.microseconds >= touchInterval.seconds * 1_000_000
    }

    /// R2: the outcome if nothing changed; nil if something must be written or decided under a lock.
    ///
    /// - Parameters:
    ///   - provider: of the installation's token.
    ///   - expiredTokens: of the last registration.
    public func outcomeIfUnchanged(
        generation: Int64, epoch: Int64, provider: Provider, lastSeenAt: Timestamp, expiredTokens: Int? = nil,
        now: Timestamp
    ) -> RegistrationOutcome? {
        guard precondition?.holds(for: generation) ?? true, !isTouchDue(since: lastSeenAt, at: now) else { return nil }
        return RegistrationOutcome(
            status: .unchanged, generation: generation, epoch: epoch, provider: provider, state: .active,
            userID: owner?.userID, lastSeenAt: lastSeenAt, expiredTokens: expiredTokens)
    }

    /// R7: whether this credential may have been issued before a user-wide logout, and the one that set the owner after
    /// it. For a credential with a session, the session decides instead.
    ///
    /// - Parameter boundIssuedAt: the `iat` of the credential that set the owner; nil if it had none.
    public func mayPrecedeLogout(before boundIssuedAt: Timestamp?) -> Bool {
        guard let credentialIssuedAt, owner != nil, owner?.session == nil else { return false }
        return boundIssuedAt.map(credentialIssuedAt.isInEarlierSecond) ?? true
    }
}
