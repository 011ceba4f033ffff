import Foundation

extension PushRegistryClient {
    /// What a token of APNs is for, beside the token for alerts.
    public enum TokenKind: String, Sendable, Hashable, Codable, CaseIterable {
        /// Starts a Live Activity.
        case liveActivityStart
        /// Updates and ends one Live Activity.
        case liveActivity
        case widget
        case voip
        case location
        case complication
        case fileProvider
        case pushToTalk
    }
}

/// A token that is not the one for alerts, or the removal of one. It prints as `‹token›`.
struct ReportedToken: Sendable, Hashable, Codable, CustomStringConvertible {
    /// An installation has one token for each of them.
    struct ID: Sendable, Hashable, Codable {
        var kind: PushRegistryClient.TokenKind
        /// For example, that of an activity.
        var name: String?
    }

    /// The most tokens of one installation.
    static let countMax = 16
    /// The most stored tokens and removals.
    static let storedMax = 32
    private static let bytes = 8...200
    private static let secondsMax: TimeInterval = 399 * 86_400

    let id: ID
    /// Hexadecimal. Nil: the registry has to remove the token.
    var text: String?
    /// The end that the app named.
    var expiresAt: Date?
    /// When the app reported it for the last time.
    var reportedAt: Date
    /// Whether the registry has it.
    var isSent = false

    var description: String { "‹token›" }

    /// - Returns: nil for values that the registry refuses.
    init?(_ token: Data, _ id: ID, expiresAt: Date?, at now: Date) {
        guard Self.bytes.contains(token.count), id.isValid else { return nil }
        self.id = id
        text = token.hexadecimal
        self.expiresAt = expiresAt.map { min($0, now + Self.secondsMax) }
        reportedAt = now
    }

    /// When the registry stops handing it out. Nil: not before it is removed.
    var end: Date? {
        switch id.kind {
        case .liveActivity: expiresAt ?? reportedAt + 12 * 3_600
        case .liveActivityStart: expiresAt ?? reportedAt + 90 * 86_400
        default: expiresAt
        }
    }

    /// Whether the registry stores the same for both.
    func isStored(as other: Self) -> Bool { id == other.id && text == other.text && expiresAt == other.expiresAt }

    func endsBefore(_ other: Self) -> Bool {
        (end ?? .distantFuture, reportedAt) < (other.end ?? .distantFuture, other.reportedAt)
    }

    func removed() -> Self {
        var removal = self
        (removal.text, removal.expiresAt, removal.isSent) = (nil, nil, false)
        return removal
    }
}

extension ReportedToken.ID {
    /// The name as a part of a path.
    var pathSegment: String { name ?? "-" }

    fileprivate var isValid: Bool {
        guard let name else { return kind != .liveActivity }
        return (1...128).contains(name.utf8.count) && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && !["-", ".", ".."].contains(name)
    }
}

/// The members of a token in the body of a call.
struct SentToken: Encodable {
    var kind: PushRegistryClient.TokenKind?
    var name: String?
    var token: String
    var expiresAt: String?

    /// - Parameter isNamed: whether the body names kind and name. Else the path does.
    init?(_ token: ReportedToken, isNamed: Bool) {
        guard let text = token.text else { return nil }
        if isNamed { (kind, name) = (token.id.kind, token.id.name) }
        self.token = text
        expiresAt = token.expiresAt?.formatted(.iso8601)
    }
}

extension Data {
    var hexadecimal: String { map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined() }
}
