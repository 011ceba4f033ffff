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
