import PushRegistry
import StrictJSON

/// The body of `PUT /v1/apps/{app}` and `PATCH /v1/apps/{app}`: the policy's members, flat.
///
/// An absent member is left as it is: at its default by a PUT, which begins with nothing, and as it was by a PATCH
/// (JSON Merge Patch, RFC 7396). `null` is the default. An unknown member is a fault: a slip must not reset what it was
/// to change.
enum PolicyBody {
    static let originsMax = 100

    private static let members: [StaticString] = [
        "app", "touchInterval", "staleAfter", "retention", "grace", "sessionTombstones", "storeAdvertisingId",
        "allowedOrigins", "jwks", "jwksURL", "jwtIssuer", "jwtAudience", "sessionExpiryClaim",
        "allowIncompleteTokens", "rateLimits",
    ]

    /// - Parameters:
    ///   - draft: what the body changes.
    ///   - id: the app of the path. A body may name it, as the answer of GET does.
    ///   - present: the policy that is replaced; a symmetric key sent without its secret keeps the one it has.
    /// - Throws: every fault of the body.
    static func parse(
        _ body: [UInt8], changing draft: AppPolicy.Draft, of id: AppID, replacing present: AppPolicy?
    ) throws(JSONFaults) -> AppPolicy {
        // No body at all is a policy of defaults.
        let document = try JSONDocument(body.isEmpty ? Array("{}".utf8) : body)
        var draft = draft
        if let root = document.root.object() { read(root, into: &draft, of: id, present) }
        let inconsistencies = draft.faults.map { fault in
            JSONFault(pointer: fault.pointer, code: .init(rawValue: fault.code), detail: fault.detail)
        }
        guard let policy = try? AppPolicy(draft), document.faults.isEmpty else {
            throw JSONFaults(document.faults + inconsistencies)
        }
        return policy
    }

    private static func read(
        _ root: JSONObject, into draft: inout AppPolicy.Draft, of id: AppID, _ present: AppPolicy?
    ) {
        root.refuseUnknownMembers(besides: members)
        if let app = root.string("app", scalarsMax: Device.textScalarsMax), app != id.rawValue {
            root.refuse("app", JSONFault.Code(rawValue: "wrong-app"), "The path names another app.")
        }
        root.duration("touchInterval", into: &draft.touchInterval)
        root.duration("retention", into: &draft.retention)
        root.duration("grace", into: &draft.grace)
        root.duration("sessionTombstones", into: &draft.sessionTombstones)
        root.set("staleAfter", of: &draft.staleAfter, null: AppPolicy.Staleness()) { value, staleness in
            if let object = value.object() { read(object, into: &staleness) }
        }
        root.set("storeAdvertisingId", of: &draft.storesAdvertisingID) { $1 = $0.boolean() }
        root.set("allowedOrigins", of: &draft.allowedOrigins) { $1 = $0.strings(elementsMax: originsMax) }
        root.set("jwksURL", of: &draft.jwksURL) { value, url in
            guard let text = value.string(scalarsMax: KeySetURL.bytesMax) else { return }
            do throws(InvalidValue) {
                url = try KeySetURL(text)
            } catch {
                value.refuse(error)
            }
        }
        root.text("jwtIssuer", into: &draft.jwtIssuer)
        root.text("jwtAudience", into: &draft.jwtAudience)
        root.text("sessionExpiryClaim", into: &draft.sessionExpiryClaim)
        root.set("allowIncompleteTokens", of: &draft.allowsIncompleteTokens) { $1 = $0.boolean() }
        root.set("jwks", of: &draft.jwks) { value, text in
            let stored = present?.jwks.map { KeySet(stored: $0) }
            text = value.object().flatMap { KeySet($0, replacing: stored) }?.text
        }
        root.set("rateLimits", of: &draft.rateLimits, null: AppPolicy.RateLimits()) { value, limits in
            guard let object = value.object() else { return }
            object.refuseUnknownMembers(besides: ["perKey", "perAddress"])
            object.limit("perKey", into: &limits.perKey)
            object.limit("perAddress", into: &limits.perAddress)
        }
    }

    private static func read(_ object: JSONObject, into staleness: inout AppPolicy.Staleness) {
        let names: [(StaticString, Provider)] = [
            ("apns", .apns), ("apnsSandbox", .apnsSandbox), ("fcm", .fcm), ("huawei", .huawei), ("webPush", .webPush),
        ]
        object.refuseUnknownMembers(besides: names.map(\.0))
        for (name, provider) in names { object.duration(name, into: &staleness.decided[provider]) }
    }
}

extension JSONObject {
    /// Sets what a member stands for: `null` resets it, an absent member leaves it.
    fileprivate func set<Value>(
        _ name: StaticString, of target: inout Value, null: Value, _ read: (JSONValue, inout Value) -> Void
    ) {
        if let value = value(name) {
            read(value, &target)
        } else if members.contains(where: { $0.name == name.description }) {
            target = null
        }
    }

    fileprivate func set<Value>(
        _ name: StaticString, of target: inout Value?, _ read: (JSONValue, inout Value?) -> Void
    ) {
        set(name, of: &target, null: nil, read)
    }

    fileprivate func text(_ name: StaticString, into text: inout String?) {
        set(name, of: &text) { $1 = $0.string(scalarsMax: Device.textScalarsMax) }
    }

    fileprivate func duration(_ name: StaticString, into duration: inout ISO8601Duration?) {
        set(name, of: &duration) { value, duration in
            guard let text = value.string(scalarsMax: Device.textScalarsMax) else { return }
            do throws(InvalidValue) {
                duration = try ISO8601Duration(text)
            } catch {
                value.refuse(error)
            }
        }
    }

    /// Both members are needed, unless there is a limit already.
    fileprivate func limit(_ name: StaticString, into limit: inout AppPolicy.RateLimit?) {
        set(name, of: &limit) { value, limit in
            guard let object = value.object() else { return }
            object.refuseUnknownMembers(besides: ["rate", "burst"])
            let presence: JSONPresence = limit == nil ? .required : .optional
            let rate = object.double("rate", presence, in: 0...1_000_000) ?? limit?.rate
            let burst = object.integer("burst", presence, in: 1...1_000_000).map { Int($0) } ?? limit?.burst
            if let rate, let burst { limit = AppPolicy.RateLimit(rate: rate, burst: burst) }
        }
    }
}

extension JSONValue {
    /// An array of strings; `null` in it is a fault.
    fileprivate func strings(elementsMax: Int) -> [String]? {
        array(elementsMax: elementsMax)?.compactMap { $0.string(scalarsMax: Device.textScalarsMax) }
    }
}

extension ParameterFault {
    static func path(_ name: String, _ detail: String) -> ParameterFault {
        ParameterFault(parameter: name, code: "invalid-parameter", detail: detail)
    }
}
