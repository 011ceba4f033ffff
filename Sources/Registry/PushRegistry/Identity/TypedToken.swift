/// What a token of APNs beside an installation's main one is for. Part of the API: stable.
public enum TokenKind: String, CaseIterable, Hashable, Sendable {
    /// Starts Live Activities; updates one of them.
    case liveActivityStart, liveActivity
    case widget, voip, location, complication, fileProvider, pushToTalk

    /// How long a token is handed out after its first receipt, if the app does not say it; nil: without an end.
    var lifetime: ISO8601Duration? {
        switch self {
        case .liveActivity: .hours(12)
        case .liveActivityStart: .days(90)
        case .widget, .voip, .location, .complication, .fileProvider, .pushToTalk: nil
        }
    }

    /// Whether a token stays with an installation that becomes anonymous by a logout.
    var outlivesOwner: Bool { self == .widget || self == .complication }
}

/// What tells the typed tokens of one installation apart.
public struct TypedTokenKey: Hashable, Sendable {
    public let kind: TokenKind
    /// The activity's id, or the type of its attributes; empty: without a name.
    public let name: String

    /// - Parameter name: 1 to 128 visible ASCII characters, and none of `-`, `.` and `..`, which a path cannot show. A
    ///   `liveActivity` needs one. Nil: without a name.
    /// - Throws: `InvalidValue` with the code `invalid-token-name`, or `required`.
    public init(_ kind: TokenKind, name: String?) throws(InvalidValue) {
        self.kind = kind
        guard let name else {
            guard kind != .liveActivity else {
                throw InvalidValue(code: "required", detail: "A liveActivity requires the activity's id as its name.")
            }
            self.name = ""
            return
        }
        guard (1...128).contains(name.utf8.count), VisibleASCII.contains(name), VisibleASCII.isSegment(name),
            name != "-"
        else {
            throw InvalidValue(
                code: "invalid-token-name",
                detail: "This must be 1 to 128 visible ASCII characters, and none of - and . and ..")
        }
        self.name = name
    }

    /// A row of a store.
    public init(storedKind kind: TokenKind, name: String) {
        (self.kind, self.name) = (kind, name)
    }
}

/// A typed token as a store has it.
public struct TypedToken: Hashable, Sendable {
    public let key: TypedTokenKey
    /// Its provider is `apns` or `apnsSandbox`: the token's environment.
    public let token: Token
    /// Of the token's canonical text.
    public let sha256: [UInt8]
    /// When the installation first sent this token under this name.
    public let receivedAt: Timestamp
    /// From this time on it counts as absent; nil: without an end.
    public let expiresAt: Timestamp?
    /// When a verdict on it was held, because too many were about tokens of its kind (R9): it is not handed out. Nil if
    /// it is.
    public private(set) var heldAt: Timestamp?

    public init(
        key: TypedTokenKey, token: Token, sha256: [UInt8], receivedAt: Timestamp, expiresAt: Timestamp?,
        heldAt: Timestamp? = nil
    ) {
        (self.key, self.token, self.sha256) = (key, token, sha256)
        (self.receivedAt, self.expiresAt, self.heldAt) = (receivedAt, expiresAt, heldAt)
    }

    public var isHeld: Bool { heldAt != nil }

    /// - Parameter time: nil: it is handed out again.
    func held(at time: Timestamp?) -> TypedToken {
        var token = self
        token.heldAt = time
        return token
    }

    public func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    /// R1: at most one installation of an app holds it, under any number of names and whatever its environment is.
    public var address: TypedTokenAddress { TypedTokenAddress(kind: key.kind, sha256: sha256) }
}

/// The identity of a typed token within an app.
public struct TypedTokenAddress: Hashable, Sendable {
    public let kind: TokenKind
    public let sha256: [UInt8]

    public init(kind: TokenKind, sha256: [UInt8]) {
        (self.kind, self.sha256) = (kind, sha256)
    }
}

/// A typed token as an app sends it.
public struct SentTypedToken: Hashable, Sendable {
    public let key: TypedTokenKey
    public let token: Token
    public let sha256: [UInt8]
    /// Nil: by the kind.
    public let expiresAt: Timestamp?

    /// How far ahead `expiresAt` may be.
    public static let expiryMax = ISO8601Duration.days(400)
    /// How many tokens that have not expired an installation may have.
    public static let countMax = 16

    /// - Parameter token: of `apns` or `apnsSandbox`.
    public init(key: TypedTokenKey, token: Token, sha256: [UInt8], expiresAt: Timestamp?) {
        (self.key, self.token, self.sha256, self.expiresAt) = (key, token, sha256, expiresAt)
    }

    public var address: TypedTokenAddress { TypedTokenAddress(kind: key.kind, sha256: sha256) }

    func isPast(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    /// The same in another environment: both have the same form of tokens.
    func `in`(_ environment: Provider) -> SentTypedToken {
        SentTypedToken(key: key, token: Token(token, in: environment), sha256: sha256, expiresAt: expiresAt)
    }
}
