import Foundation

/// The body of `PUT /v1/apps/{app}/installations/{installId}`.
struct SentRegistrationBody: Sendable, Encodable {
    var token: String
    var provider: PushRegistryClient.Provider
    var settings: PushRegistryClient.NotificationSettings
    var device: PushRegistryClient.Device
    var installID: String
    var topics: SavedState.Topics = [:]
    /// Nil is absent.
    var tokens: [ReportedToken]?

    private enum Name: CodingKey { case token, provider, settings, device, topics, tokens }
    private enum DeviceName: CodingKey { case installId }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(token, forKey: .token)
        try container.encode(provider, forKey: .provider)
        try container.encode(settings, forKey: .settings)
        if !topics.isEmpty { try container.encode(topics, forKey: .topics) }
        let tokens = tokens?.compactMap { SentToken($0, isNamed: true) }
        try container.encodeIfPresent(tokens, forKey: .tokens)
        let nested = container.superEncoder(forKey: .device)
        try device.encode(to: nested)
        var members = nested.container(keyedBy: DeviceName.self)
        try members.encode(installID, forKey: .installId)
    }

    /// The JSON, with members in a fixed order.
    var json: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding texts, whole numbers and booleans never fails.
        return (try? encoder.encode(self)) ?? Data()
    }

    /// The digest without topics and tokens: what of them is not sent yet is known.
    var digest: UInt64 {
        var body = self
        body.topics = [:]
        body.tokens = nil
        return Digest(body.json).value
    }
}

/// The response to a registration.
struct RegistrationResult: Decodable {
    var installId: String
    var generation: Int64
    var registerAgainBefore: String
    var deliveryKey: String?
    var epoch: String?

    var until: Date? { Date(rfc3339: registerAgainBefore) }
}

extension Date {
    /// A time in UTC, such as `2026-11-22T07:04:03.728736Z`. Fractions of a second are dropped.
    init?(rfc3339 text: String) {
        let whole = text.replacing(#/\.[0-9]+/#, with: "")
        guard let date = try? Date(whole, strategy: .iso8601) else { return nil }
        self = date
    }
}

/// A digest that detects changes (FNV-1a). It gives no protection against forgery, and needs none.
struct Digest {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    init(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    /// The digest of the user and the session in a JWT, or of the whole credential if it is not a JWT.
    static func owner(of credential: String) -> UInt64 {
        guard let claims = Claims(of: credential) else { return Digest(credential.utf8).value }
        return Digest("\(claims.sub)\n\(claims.sid ?? "")".utf8).value
    }

    /// The digest of the user in a JWT.
    static func user(of credential: String) -> UInt64? {
        Claims(of: credential).map { Digest($0.sub.utf8).value }
    }

    private struct Claims: Decodable {
        var sub: String
        var sid: String?

        init?(of credential: String) {
            let parts = credential.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 3, let payload = Data(base64URL: parts[1]),
                let claims = try? JSONDecoder().decode(Self.self, from: payload)
            else { return nil }
            self = claims
        }
    }
}

extension Data {
    /// Decodes base64url without padding (RFC 4648).
    init?(base64URL text: some StringProtocol) {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
    }
}
