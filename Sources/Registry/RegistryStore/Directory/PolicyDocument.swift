import Basics
import Foundation
import PushRegistry

/// A policy as the column `app.policy` keeps it: the members of the API under their names, durations in ISO 8601, which
/// PostgreSQL reads as intervals. It has only the members that the administrator set: an absent member has its default.
package struct PolicyDocument: Codable {
    var touchInterval: String?
    var staleAfter: [String: String]?
    var retention: String?
    var grace: String?
    var sessionTombstones: String?
    var storeAdvertisingId: Bool?
    var allowedOrigins: [String]?
    /// The key set's text, symmetric keys and all.
    var jwks: String?
    var jwksURL: String?
    var jwtIssuer: String?
    var jwtAudience: String?
    var sessionExpiryClaim: String?
    var allowIncompleteTokens: Bool?
    var perKey: Limit?
    var perAddress: Limit?
    var smallestGroup: Int?
    var receiptRetention: String?
    var notificationsMax: Int?
    var installationsPerUser: Int?
    var webPushHosts: [String]?
    /// Without members: off. The column has no null, which would be an absent member.
    var feedbackBreaker: Breaker?
    /// Roles by group, whose name is percent-encoded beyond ASCII: `String` takes two spellings of one Unicode text for
    /// the same key.
    var consoleGroups: [String: String]?

    struct Limit: Codable {
        var rate: Double
        var burst: Int
    }

    struct Breaker: Codable {
        var count: Int64?
        var share: Double?
    }

    init(_ policy: AppPolicy) {
        let draft = policy.draft
        touchInterval = draft.touchInterval?.description
        let staleness = draft.staleAfter.decided.map { ($0.key.rawValue, $0.value.description) }
        staleAfter = staleness.isEmpty ? nil : Dictionary(uniqueKeysWithValues: staleness)
        retention = draft.retention?.description
        grace = draft.grace?.description
        sessionTombstones = draft.sessionTombstones?.description
        storeAdvertisingId = draft.storesAdvertisingID
        allowedOrigins = draft.allowedOrigins
        jwks = draft.jwks?.text
        jwksURL = draft.jwksURL?.text
        jwtIssuer = draft.jwtIssuer?.text
        jwtAudience = draft.jwtAudience?.text
        sessionExpiryClaim = draft.sessionExpiryClaim?.text
        allowIncompleteTokens = draft.allowsIncompleteTokens
        perKey = draft.rateLimits.perKey.map { Limit(rate: $0.rate, burst: $0.burst) }
        perAddress = draft.rateLimits.perAddress.map { Limit(rate: $0.rate, burst: $0.burst) }
        smallestGroup = draft.smallestGroup
        receiptRetention = draft.receiptRetention?.description
        notificationsMax = draft.notificationsMax
        installationsPerUser = draft.installationsPerUser
        webPushHosts = draft.webPushHosts
        feedbackBreaker =
            switch draft.feedbackBreaker {
            case nil: nil
            case .off: Breaker()
            case .limits(let breaker): Breaker(count: breaker.count, share: breaker.share)
            }
        consoleGroups = draft.consoleGroups.isEmpty ? nil : [:]
        for (group, role) in draft.consoleGroups {
            let name = group.text.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? group.text
            consoleGroups?[name] = role.rawValue
        }
    }

    init(text: String) throws {
        self = try JSONDecoder().decode(PolicyDocument.self, from: Data(text.utf8))
    }

    func text() throws -> String {
        String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
    }

    func policy() throws -> AppPolicy {
        var draft = AppPolicy.Draft()
        draft.touchInterval = try touchInterval.map { try ISO8601Duration($0) }
        for (name, duration) in staleAfter ?? [:] {
            guard let provider = Provider(rawValue: name) else { continue }
            draft.staleAfter[provider] = try ISO8601Duration(duration)
        }
        draft.retention = try retention.map { try ISO8601Duration($0) }
        draft.grace = try grace.map { try ISO8601Duration($0) }
        draft.sessionTombstones = try sessionTombstones.map { try ISO8601Duration($0) }
        draft.storesAdvertisingID = storeAdvertisingId
        draft.allowedOrigins = allowedOrigins
        draft.jwks = jwks.map { ExactText($0) }
        draft.jwksURL = try jwksURL.map { try KeySetURL($0) }
        draft.jwtIssuer = jwtIssuer.map { ExactText($0) }
        draft.jwtAudience = jwtAudience.map { ExactText($0) }
        draft.sessionExpiryClaim = sessionExpiryClaim.map { ExactText($0) }
        draft.allowsIncompleteTokens = allowIncompleteTokens
        draft.rateLimits = AppPolicy.RateLimits(perKey: perKey.map(Self.limit), perAddress: perAddress.map(Self.limit))
        draft.smallestGroup = smallestGroup
        draft.receiptRetention = try receiptRetention.map { try ISO8601Duration($0) }
        draft.notificationsMax = notificationsMax
        draft.installationsPerUser = installationsPerUser
        draft.webPushHosts = webPushHosts
        draft.feedbackBreaker = feedbackBreaker.map { stored in
            guard let count = stored.count, let share = stored.share else { return .off }
            return .limits(FeedbackBreaker(count: count, share: share))
        }
        for (group, role) in consoleGroups ?? [:] {
            draft.consoleGroups[ExactText(group.removingPercentEncoding ?? group)] = Role(rawValue: role)
        }
        return try AppPolicy(draft)
    }

    /// The policy of a stored text, or why it cannot be used: names of members, and nothing of their values.
    package static func policy(ofStored text: String) -> Result<AppPolicy, UnusablePolicy> {
        do {
            return .success(try PolicyDocument(text: text).policy())
        } catch let error as AppPolicy.InconsistentPolicy {
            return .failure(
                UnusablePolicy(reason: error.faults.map { "\($0.pointer): \($0.detail)" }.joined(separator: " ")))
        } catch let error as InvalidValue {
            return .failure(UnusablePolicy(reason: error.detail))
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context)
        {
            let path = context.codingPath.map { "/" + $0.stringValue }.joined()
            return .failure(UnusablePolicy(reason: "\(path): this is not of the expected type."))
        } catch {
            return .failure(UnusablePolicy(reason: "it cannot be read"))
        }
    }

    private static let plain = CharacterSet(charactersIn: " "..."~").subtracting(CharacterSet(charactersIn: "%"))

    private static func limit(_ limit: Limit) -> AppPolicy.RateLimit {
        AppPolicy.RateLimit(rate: limit.rate, burst: limit.burst)
    }
}
