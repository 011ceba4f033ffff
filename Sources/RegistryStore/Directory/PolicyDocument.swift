import Foundation
import PushRegistry

/// A policy as the column `app.policy` keeps it: the members of the API under their names, durations in ISO 8601, which
/// PostgreSQL reads as intervals. A member that an older binary did not write has its default.
struct PolicyDocument: Codable {
    var touchInterval: String?
    var staleAfter: [String: String]?
    var retention: String?
    var grace: String?
    var sessionTombstones: String?
    var storeAdvertisingId: Bool?
    var allowedOrigins: [String]?
    /// The key set's text, symmetric keys and all.
    var jwks: String?
    var jwtIssuer: String?
    var jwtAudience: String?
    var sessionExpiryClaim: String?
    var perKey: Limit?
    var perAddress: Limit?

    struct Limit: Codable {
        var rate: Double
        var burst: Int
    }

    init(_ policy: AppPolicy) {
        touchInterval = policy.touchInterval.description
        staleAfter = Dictionary(
            uniqueKeysWithValues: Provider.allCases.map { ($0.rawValue, policy.staleAfter[$0].description) })
        retention = policy.retention.description
        grace = policy.grace.description
        sessionTombstones = policy.sessionTombstones.description
        storeAdvertisingId = policy.storesAdvertisingID
        allowedOrigins = policy.allowedOrigins
        jwks = policy.jwks
        jwtIssuer = policy.jwtIssuer
        jwtAudience = policy.jwtAudience
        sessionExpiryClaim = policy.sessionExpiryClaim
        perKey = policy.rateLimits.perKey.map { Limit(rate: $0.rate, burst: $0.burst) }
        perAddress = policy.rateLimits.perAddress.map { Limit(rate: $0.rate, burst: $0.burst) }
    }

    init(text: String) throws {
        self = try JSONDecoder().decode(PolicyDocument.self, from: Data(text.utf8))
    }

    func text() throws -> String {
        String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    }

    func policy() throws -> AppPolicy {
        var draft = AppPolicy.Draft()
        if let touchInterval { draft.touchInterval = try ISO8601Duration(touchInterval) }
        for (name, duration) in staleAfter ?? [:] {
            guard let provider = Provider(rawValue: name) else { continue }
            draft.staleAfter[provider] = try ISO8601Duration(duration)
        }
        if let retention { draft.retention = try ISO8601Duration(retention) }
        if let grace { draft.grace = try ISO8601Duration(grace) }
        if let sessionTombstones { draft.sessionTombstones = try ISO8601Duration(sessionTombstones) }
        draft.storesAdvertisingID = storeAdvertisingId ?? draft.storesAdvertisingID
        draft.allowedOrigins = allowedOrigins ?? draft.allowedOrigins
        draft.jwks = jwks
        draft.jwtIssuer = jwtIssuer
        draft.jwtAudience = jwtAudience
        draft.sessionExpiryClaim = sessionExpiryClaim
        draft.rateLimits = AppPolicy.RateLimits(perKey: perKey.map(Self.limit), perAddress: perAddress.map(Self.limit))
        return try AppPolicy(draft)
    }

    private static func limit(_ limit: Limit) -> AppPolicy.RateLimit {
        AppPolicy.RateLimit(rate: limit.rate, burst: limit.burst)
    }
}
