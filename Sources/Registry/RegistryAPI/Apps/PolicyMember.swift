import Basics
import PushRegistry
import StrictJSON

/// A member of an app's policy in JSON. `all` is the only list of them: bodies, responses and the audit log use it.
struct PolicyMember: Sendable {
    let name: StaticString
    /// Sets the member of the draft from a body. An absent member stays as it is; `null` is the default. The last
    /// argument is the policy that is replaced.
    let read: @Sendable (JSONObject, inout AppPolicy.Draft, AppPolicy?) -> Void
    /// Writes the effective value.
    let write: @Sendable (AppPolicy, inout JSONWriter) -> Void
    /// Whether two drafts have the same value.
    let isEqual: @Sendable (AppPolicy.Draft, AppPolicy.Draft) -> Bool

    static let all: [PolicyMember] = [
        .duration("touchInterval", \.touchInterval, \.touchInterval),
        .staleAfter,
        .duration("retention", \.retention, \.retention),
        .duration("grace", \.grace, \.grace),
        .duration("sessionTombstones", \.sessionTombstones, \.sessionTombstones),
        .flag("storeAdvertisingId", \.storesAdvertisingID, \.storesAdvertisingID),
        .allowedOrigins,
        .jwks,
        .jwksURL,
        .text("jwtIssuer", \.jwtIssuer),
        .text("jwtAudience", \.jwtAudience),
        .text("sessionExpiryClaim", \.sessionExpiryClaim),
        .flag("allowIncompleteTokens", \.allowsIncompleteTokens, \.allowsIncompleteTokens),
        .rateLimits,
        .count("smallestGroup", \.smallestGroup, in: 1...smallestGroupMax) { $0.smallestGroup },
        .duration("receiptRetention", \.receiptRetention, \.receiptRetention),
        .count("notificationsMax", \.notificationsMax, in: AppPolicy.notificationsMaxRange) { $0.notificationsMax },
        .count("installationsPerUser", \.installationsPerUser, in: AppPolicy.installationsPerUserRange) {
            $0.installationsPerUser
        },
        .webPushHosts,
        .feedbackBreaker,
        .consoleGroups,
    ]

    /// A path to a member of the draft.
    private typealias DraftPath<Value> = any WritableKeyPath<AppPolicy.Draft, Value> & Sendable

    private init<Value: Equatable & Sendable>(
        _ name: StaticString, _ path: DraftPath<Value>, default standard: Value,
        read: @escaping @Sendable (JSONValue, inout Value, AppPolicy?) -> Void,
        write: @escaping @Sendable (AppPolicy, inout JSONWriter) -> Void
    ) {
        self.name = name
        self.read = { root, draft, replaced in
            if let value = root.value(name) {
                read(value, &draft[keyPath: path], replaced)
            } else if root.hasNull(name) {
                draft[keyPath: path] = standard
            }
        }
        self.write = write
        isEqual = { $0[keyPath: path] == $1[keyPath: path] }
    }
}

// MARK: - Kinds of members

extension PolicyMember {
    private static func duration(
        _ name: StaticString, _ path: DraftPath<ISO8601Duration?>,
        _ effective: any KeyPath<AppPolicy, ISO8601Duration> & Sendable
    ) -> PolicyMember {
        PolicyMember(name, path, default: nil) { value, duration, _ in
            value.readDuration(into: &duration)
        } write: { policy, writer in
            writer.string(policy[keyPath: effective].description)
        }
    }

    /// - Parameter effective: nil: the member has no value.
    private static func count(
        _ name: StaticString, _ path: DraftPath<Int?>, in range: ClosedRange<Int64>,
        _ effective: @escaping @Sendable (AppPolicy) -> Int?
    ) -> PolicyMember {
        PolicyMember(name, path, default: nil) { value, count, _ in
            if let number = value.integer(in: range) { count = Int(number) }
        } write: { policy, writer in
            if let count = effective(policy) { writer.integer(Int64(count)) } else { writer.null() }
        }
    }

    private static func flag(
        _ name: StaticString, _ path: DraftPath<Bool?>, _ effective: any KeyPath<AppPolicy, Bool> & Sendable
    ) -> PolicyMember {
        PolicyMember(name, path, default: nil) { value, flag, _ in
            flag = value.boolean()
        } write: { policy, writer in
            writer.boolean(policy[keyPath: effective])
        }
    }

    private static func text(_ name: StaticString, _ path: DraftPath<ExactText?>) -> PolicyMember {
        PolicyMember(name, path, default: nil) { value, text, _ in
            text = value.string(scalarsMax: Device.textScalarsMax).map { ExactText($0) }
        } write: { policy, writer in
            if let text = policy.draft[keyPath: path] { writer.string(text.text) } else { writer.null() }
        }
    }
}

// MARK: - Other members

extension PolicyMember {
    static let originsMax = 100
    static let smallestGroupMax: Int64 = 1_000_000

    private static let staleAfter = PolicyMember("staleAfter", \.staleAfter, default: AppPolicy.Staleness()) {
        value, staleness, _ in
        for (name, value) in value.object()?.members ?? [] {
            if let provider = Provider(rawValue: name) {
                if value.kind == .null {
                    staleness.decided[provider] = nil
                } else {
                    value.readDuration(into: &staleness.decided[provider])
                }
            } else {
                value.refuseUnknownMember(name, among: Provider.allCases.map(\.rawValue))
            }
        }
    } write: { policy, writer in
        writer.object { writer in
            for provider in Provider.allCases {
                writer.name(provider.rawValue)
                writer.string(policy.staleAfter[provider].description)
            }
        }
    }

    private static let allowedOrigins = PolicyMember("allowedOrigins", \.allowedOrigins, default: nil) {
        value, origins, _ in
        // `null` in the array is a fault.
        origins = value.array(elementsMax: originsMax)?.compactMap { $0.string(scalarsMax: Device.textScalarsMax) }
    } write: { policy, writer in
        writer.array { writer in
            for origin in policy.allowedOrigins { writer.string(origin) }
        }
    }

    private static let jwks = PolicyMember("jwks", \.jwks, default: nil) { value, text, replaced in
        let stored = replaced?.jwks.map { JWKS(stored: $0.text) }
        text = value.object().flatMap { JWKS($0, replacing: stored) }.map { ExactText($0.text) }
    } write: { policy, writer in
        if let keys = policy.jwks.map({ JWKS(stored: $0.text) }) {
            writer.raw(keys.publicText.utf8)
        } else {
            writer.null()
        }
    }

    private static let jwksURL = PolicyMember("jwksURL", \.jwksURL, default: nil) { value, url, _ in
        guard let text = value.string(scalarsMax: KeySetURL.bytesMax) else { return }
        if let parsed = value.parsed({ () throws(InvalidValue) in try KeySetURL(text) }) { url = parsed }
    } write: { policy, writer in
        if let url = policy.jwksURL { writer.string(url.text) } else { writer.null() }
    }

    private static let webPushHosts = PolicyMember("webPushHosts", \.webPushHosts, default: nil) { value, hosts, _ in
        hosts = value.array(elementsMax: WebPushHosts.countMax)?.compactMap { element in
            element.string(scalarsMax: Device.textScalarsMax).map { WebPushHosts.canonical($0) ?? $0 }
        }
    } write: { policy, writer in
        writer.array { writer in
            for host in policy.webPushHosts.entries { writer.string(host) }
        }
    }

    /// `null` is off. A member that is missing stays as it is; `null` is its default.
    private static let feedbackBreaker = PolicyMember("feedbackBreaker", \.feedbackBreaker, default: .off) {
        value, setting, _ in
        guard let object = value.object() else { return }
        object.refuseUnknownMembers(besides: ["count", "share"])
        var breaker = FeedbackBreaker.standard
        if case .limits(let present) = setting { breaker = present }
        if object.hasNull("count") { breaker.count = FeedbackBreaker.standard.count }
        if object.hasNull("share") { breaker.share = FeedbackBreaker.standard.share }
        breaker.count = object.integer("count", in: FeedbackBreaker.countRange) ?? breaker.count
        breaker.share =
            object.double("share", in: -.greatestFiniteMagnitude...(.greatestFiniteMagnitude)) ?? breaker.share
        setting = .limits(breaker)
    } write: { policy, writer in
        guard let breaker = policy.feedbackBreaker else { return writer.null() }
        writer.object { writer in
            writer.member("count", breaker.count)
            writer.member("share", breaker.share)
        }
    }

    private static let consoleRoles = Role.allCases.filter { $0 != .client }

    private static let consoleGroups = PolicyMember("consoleGroups", \.consoleGroups, default: [:]) {
        value, groups, _ in
        for (name, value) in value.object()?.members ?? [] {
            if !(1...ConsolePerson.groupScalarsMax).contains(name.unicodeScalars.count) {
                value.refuse(
                    .outOfRange, "The name of a group has 1 to \(ConsolePerson.groupScalarsMax) characters.")
            } else if value.kind == .null {
                groups[ExactText(name)] = nil
            } else if let text = value.string(scalarsMax: Device.textScalarsMax) {
                groups[ExactText(name)] = consoleRoles.first { $0.rawValue == text }
                if groups[ExactText(name)] == nil {
                    let names = consoleRoles.map(\.rawValue).joined(separator: ", ")
                    value.refuse(.unknownValue, "This must be a role of people: \(names).")
                }
            }
        }
    } write: { policy, writer in
        writer.object { writer in
            for (group, role) in policy.consoleGroups.sorted(by: { $0.key < $1.key }) {
                writer.name(group.text)
                writer.string(role.rawValue)
            }
        }
    }

    private static let rateLimits = PolicyMember("rateLimits", \.rateLimits, default: AppPolicy.RateLimits()) {
        value, limits, _ in
        guard let object = value.object() else { return }
        object.refuseUnknownMembers(besides: ["perKey", "perAddress"])
        object.readLimit("perKey", into: &limits.perKey)
        object.readLimit("perAddress", into: &limits.perAddress)
    } write: { policy, writer in
        writer.object { writer in
            writer.limit("perKey", policy.rateLimits.perKey)
            writer.limit("perAddress", policy.rateLimits.perAddress)
        }
    }
}

extension JSONValue {
    fileprivate func readDuration(into duration: inout ISO8601Duration?) {
        if let parsed = parsedText(ISO8601Duration.init(_:)) { duration = parsed }
    }
}

extension JSONObject {
    fileprivate func hasNull(_ name: StaticString) -> Bool {
        members.contains { $0.name == name.description && $0.value.kind == .null }
    }

    /// Both members are required, unless a limit is set already.
    fileprivate func readLimit(_ name: StaticString, into limit: inout AppPolicy.RateLimit?) {
        guard let value = value(name) else {
            if hasNull(name) { limit = nil }
            return
        }
        guard let object = value.object() else { return }
        object.refuseUnknownMembers(besides: ["rate", "burst"])
        func presence(of name: StaticString) -> JSONPresence {
            limit == nil || object.hasNull(name) ? .required : .optional
        }
        let rate = object.double("rate", presence(of: "rate"), in: 0...1_000_000) ?? limit?.rate
        let burst = object.integer("burst", presence(of: "burst"), in: 1...1_000_000).map { Int($0) } ?? limit?.burst
        if let rate, let burst { limit = AppPolicy.RateLimit(rate: rate, burst: burst) }
    }
}

extension JSONWriter {
    fileprivate mutating func limit(_ name: StaticString, _ limit: AppPolicy.RateLimit?) {
        self.name(name)
        guard let limit else { return null() }
        object { writer in
            writer.member("rate", limit.rate)
            writer.member("burst", limit.burst)
        }
    }
}
