import Basics

/// The push service that issued a token; APNs has one provider for each environment.
public enum Provider: String, CaseIterable, Hashable, Sendable {
    case apns, apnsSandbox, fcm, huawei, webPush

    /// Whether it is Apple's, whose clients always know whether the user allows notifications.
    public var isApple: Bool { self == .apns || self == .apnsSandbox }
}

/// A push token in canonical form: how the provider addresses an installation. A secret without a printable form.
public struct Token: Hashable, Sendable {
    public let provider: Provider
    /// The canonical text. Only responses to roles that may send contain it.
    public let text: String

    /// - APNs: 16 to 400 hexadecimal digits, stored in lower case. Apple guarantees no length.
    /// - FCM, Huawei: 1 to 4,096 visible ASCII characters.
    /// - Web Push: the subscription's endpoint, an absolute https URL of at most 2,048 bytes with a host (RFC 8030).
    ///   Scheme and host are stored in lower case.
    ///
    /// - Throws: `InvalidValue` with the code `invalid-token`, `too-long`, or `push-service-not-allowed`: an endpoint
    ///   has user information.
    public init(_ text: String, of provider: Provider) throws(InvalidValue) {
        self.provider = provider
        self.text =
            switch provider {
            case .apns, .apnsSandbox: try Self.hexadecimal(text)
            case .fcm, .huawei: try Self.visible(text)
            case .webPush: try Self.endpoint(text)
            }
    }

    /// A token of APNs in another environment.
    init(_ token: Token, in environment: Provider) {
        (provider, text) = (environment, token.text)
    }

    /// The longest token of any provider.
    public static let charactersMax = 4096

    private static func hexadecimal(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.count <= 400 else { throw tooLong(400) }
        var hasUpper = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): continue
            case UInt8(ascii: "A")...UInt8(ascii: "F"): hasUpper = true
            default: throw invalid("An APNs token consists of hexadecimal digits.")
            }
        }
        guard text.utf8.count >= 16 else { throw invalid("An APNs token has at least 16 digits.") }
        return hasUpper ? text.lowercased() : text
    }

    private static func visible(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.count <= charactersMax else { throw tooLong(charactersMax) }
        guard !text.isEmpty, VisibleASCII.contains(text) else {
            throw invalid("A token is 1 to \(charactersMax) visible ASCII characters.")
        }
        return text
    }

    private static func endpoint(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.count <= 2048 else { throw tooLong(2048) }
        guard !hasUserInformation(text) else { throw .pushServiceNotAllowed }
        guard VisibleASCII.contains(text), let origin = WebOrigin(prefixOf: text) else {
            throw invalid("A Web Push token is the subscription's endpoint: an absolute https URL.")
        }
        return origin.text + text.dropFirst(origin.text.count)
    }

    /// Whether the URL's authority has a part before `@`: no push service has one, and readers disagree about the host.
    private static func hasUserInformation(_ url: String) -> Bool {
        let scheme = "https://"
        guard url.prefix(scheme.count).lowercased() == scheme else { return false }
        return url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }.contains("@")
    }

    private static func invalid(_ detail: String) -> InvalidValue {
        InvalidValue(code: "invalid-token", detail: detail)
    }

    private static func tooLong(_ limit: Int) -> InvalidValue {
        InvalidValue(code: "too-long", detail: "At most \(limit) characters are allowed.")
    }
}

extension Token {
    /// What R1 tells tokens apart by: all spellings of one address are one token. The address of an `fcm` token is its
    /// Firebase installation id if it has one; any other token is its own address. `TokenColumns` repeats the rule in
    /// SQL.
    public var address: Substring { installationID ?? text[...] }

    /// The digest of the address, by which tables, events and look-ups name the token.
    ///
    /// - Parameter sha256: the hash function. This module has none.
    public func addressSHA256(by sha256: ([UInt8]) -> [UInt8]) -> [UInt8] { sha256(Array(address.utf8)) }

    public var addressKind: AddressKind {
        if provider == .webPush { return .subscription }
        return installationID?.endIndex == text.endIndex ? .fid : .token
    }

    /// The token itself if its address may have other spellings; else nil.
    public var spelling: Token? { installationID == nil ? nil : self }

    /// The Firebase installation id of an `fcm` token, alone or before a colon. Nil if the token has none.
    private var installationID: Substring? {
        guard provider == .fcm,
            let end = text.utf8.index(
                text.startIndex, offsetBy: Self.installationIDDigits, limitedBy: text.endIndex),
            end == text.endIndex || text.utf8[end] == UInt8(ascii: ":"), Self.isInstallationID(text.utf8[..<end])
        else { return nil }
        return text[..<end]
    }

    package static let installationIDDigits = 22

    /// Whether the text may be a Firebase installation id: 22 digits of base64url, the first of which has the id's four
    /// fixed bits 0111.
    package static func isInstallationID(_ text: some Collection<UInt8>) -> Bool {
        guard let first = text.first, UInt8(ascii: "c")...UInt8(ascii: "f") ~= first else { return false }
        return text.count == installationIDDigits && text.allSatisfy(Base64URL.isDigit)
    }
}

/// How a sender addresses an installation: by the spelling, not by the address. `TokenColumns` repeats it in SQL.
public enum AddressKind: String, CaseIterable, Sendable {
    /// A Firebase installation id alone.
    case fid
    /// A token of APNs, Huawei or, in any other spelling, FCM.
    case token
    /// A Web Push subscription.
    case subscription
}

/// How a registration's token compares with the one that an installation holds.
public enum TokenMatch: Hashable, Sendable {
    case same
    /// Another spelling of the same address.
    case respelled
    case other

    /// - Parameter isSameSpelling: nil if the provider's addresses have one spelling. The same spelling has another
    ///   address in a row that was written before addresses had spellings (`LockedInstallations.readdress`).
    public init(isSameAddress: Bool, isSameSpelling: Bool?) {
        self =
            switch (isSameAddress, isSameSpelling) {
            case (true, true), (true, nil): .same
            case (true, false), (false, true): .respelled
            case (false, false), (false, nil): .other
            }
    }
}

extension Token: Redacted {}

/// A secret that prints as `‹token›` everywhere: in interpolation, `print`, `dump` and a mirror.
protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    public var description: String { "‹token›" }
    public var debugDescription: String { "‹token›" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The identity of a token: its app, its provider and the SHA-256 of `Token.address`. At most one installation holds an
/// address (R1).
public struct TokenAddress: Hashable, Sendable {
    public let app: AppNumber
    public let provider: Provider
    public let sha256: [UInt8]

    public init(app: AppNumber, provider: Provider, sha256: [UInt8]) {
        (self.app, self.provider, self.sha256) = (app, provider, sha256)
    }

    /// Digests are uniformly distributed, so eight bytes suffice. Hashing all fields costs ten times as much.
    public func hash(into hasher: inout Hasher) {
        sha256.prefix(8).withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// The keys of a Web Push subscription (RFC 8291, section 3.1), as `PushSubscription.toJSON()` returns them, without
/// padding. Secrets without a printable form.
public struct WebPushKeys: Hashable, Sendable {
    /// The user agent's public key: an uncompressed point on P-256, 65 bytes as base64url.
    public let p256dh: String
    /// The authentication secret: 16 bytes as base64url.
    public let auth: String

    /// - Throws: `InvalidKeys` with a reason for each key that is wrong.
    public init(p256dh: String, auth: String) throws(InvalidKeys) {
        let point = Base64URL(p256dh).flatMap { $0.bytes.count == 65 && $0.bytes[0] == 4 ? $0.text : nil }
        let secret = Base64URL(auth).flatMap { $0.bytes.count == 16 ? $0.text : nil }
        guard let point, let secret else {
            throw InvalidKeys(p256dh: point == nil ? .invalidPoint : nil, auth: secret == nil ? .invalidSecret : nil)
        }
        self.p256dh = point
        self.auth = secret
    }

    /// The fault of each key; at least one is not nil.
    public struct InvalidKeys: Error, Hashable, Sendable {
        public let p256dh: InvalidValue?
        public let auth: InvalidValue?
    }
}

extension WebPushKeys: Redacted {}

extension InvalidValue {
    fileprivate static let invalidPoint = InvalidValue(
        code: "invalid-key", detail: "p256dh must be base64url of an uncompressed P-256 point (65 bytes).")
    fileprivate static let invalidSecret = InvalidValue(
        code: "invalid-key", detail: "auth must be base64url of 16 bytes.")
}
