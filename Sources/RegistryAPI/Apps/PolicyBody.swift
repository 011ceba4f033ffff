import PushRegistry
import StrictJSON

/// The body of `PUT /v1/apps/{app}`: the policy's members, flat; absent ones have their defaults.
enum PolicyBody {
    static let originsMax = 100
    static let keysMax = 100

    /// - Parameter present: the policy that is replaced; a symmetric key sent without its secret keeps the one it has.
    /// - Throws: every fault of the body.
    static func parse(_ body: [UInt8], replacing present: AppPolicy?) throws(JSONFaults) -> AppPolicy {
        // No body at all is a policy of defaults.
        let document = try JSONDocument(body.isEmpty ? Array("{}".utf8) : body)
        var draft = AppPolicy.Draft()
        if let root = document.root.object() { read(root, into: &draft, present) }
        let inconsistencies = draft.faults.map { fault in
            JSONFault(pointer: fault.pointer, code: .init(rawValue: fault.code), detail: fault.detail)
        }
        guard let policy = try? AppPolicy(draft), document.faults.isEmpty else {
            throw JSONFaults(document.faults + inconsistencies)
        }
        return policy
    }

    private static func read(_ root: JSONObject, into draft: inout AppPolicy.Draft, _ present: AppPolicy?) {
        root.duration("touchInterval", into: &draft.touchInterval)
        root.duration("retention", into: &draft.retention)
        root.duration("grace", into: &draft.grace)
        root.duration("sessionTombstones", into: &draft.sessionTombstones)
        if let staleness = root.object("staleAfter") { read(staleness, into: &draft.staleAfter) }
        draft.storesAdvertisingID = root.boolean("storeAdvertisingId") ?? false
        draft.allowedOrigins =
            root.strings("allowedOrigins", elementsMax: originsMax, scalarsMax: Device.textScalarsMax) ?? []
        draft.jwtIssuer = root.string("jwtIssuer", scalarsMax: Device.textScalarsMax)
        draft.jwtAudience = root.string("jwtAudience", scalarsMax: Device.textScalarsMax)
        draft.sessionExpiryClaim = root.string("sessionExpiryClaim", scalarsMax: Device.textScalarsMax)
        draft.jwks = keySet(root, present)
        if let limits = root.object("rateLimits") {
            draft.rateLimits = AppPolicy.RateLimits(
                perKey: limits.limit("perKey"), perAddress: limits.limit("perAddress"))
        }
    }

    private static func read(_ object: JSONObject, into staleness: inout AppPolicy.Staleness) {
        object.duration("apns", into: &staleness.apns)
        object.duration("apnsSandbox", into: &staleness.apnsSandbox)
        object.duration("fcm", into: &staleness.fcm)
        object.duration("huawei", into: &staleness.huawei)
        object.duration("webPush", into: &staleness.webPush)
    }

    private static func keySet(_ root: JSONObject, _ present: AppPolicy?) -> String? {
        guard let set = root.object("jwks"), let keys = set.array("keys", .required, elementsMax: keysMax) else {
            return nil
        }
        for key in keys { _ = key.object()?.string("kty", .required, scalarsMax: Device.textScalarsMax) }
        let sent = KeySet(text: String(decoding: set.value.rawBytes, as: UTF8.self))
        let text = sent.text(keepingSecretsOf: KeySet(text: present?.jwks ?? "{}"))
        let incomplete = KeySet(text: text).indicesWithoutSecret
        for (index, key) in keys.enumerated() where incomplete.contains(index) {
            key.object()?.refuse("k", .required, "A symmetric key needs its secret, unless it is stored already.")
        }
        return text
    }
}

extension JSONObject {
    fileprivate func duration(_ name: StaticString, into duration: inout ISO8601Duration) {
        guard let text = string(name, scalarsMax: Device.textScalarsMax) else { return }
        do throws(InvalidValue) {
            duration = try ISO8601Duration(text)
        } catch {
            refuse(name, JSONFault.Code(rawValue: error.code), error.detail)
        }
    }

    fileprivate func limit(_ name: StaticString) -> AppPolicy.RateLimit? {
        guard let limit = object(name) else { return nil }
        let rate = limit.double("rate", .required, in: 0...1_000_000)
        let burst = limit.integer("burst", .required, in: 1...1_000_000)
        guard let rate, let burst else { return nil }
        return AppPolicy.RateLimit(rate: rate, burst: Int(burst))
    }
}

extension ParameterFault {
    static func path(_ name: String, _ detail: String) -> ParameterFault {
        ParameterFault(parameter: name, code: "invalid-parameter", detail: detail)
    }
}
