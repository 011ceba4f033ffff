// POST /v1/apps/{app}/messages/{message}/breakdown

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    /// Marketing sees groups below the policy's `smallestGroup` only in the rest.
    var breakDownMessage: Route {
        Route(.post, Self.messagePattern + "/breakdown", bodyBytesMax: MessageLimits.bodyBytesMax) { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let options = try MessageBreakdownOptions.parse(try request.jsonBody())
            let message = try await message(of: call, in: request)
            let (asOf, groups) = try await messages.groups(
                of: message.number, by: options.fields, in: call.app.number)
            let breakdown = MessageBreakdown(
                asOf: asOf, groups, limit: options.limit,
                smallestGroup: call.caller.has(any: [.sender]) ? 1 : call.app.policy.smallestGroup)
            return .json(JSONWriter(breakdown, by: options.fields))
        }
    }
}

/// `{by, limit?}`.
private struct MessageBreakdownOptions {
    private static let allowed: [AudienceField] = [.provider, .locale, .timeZone, .osVersion, .authorizationStatus]

    let fields: [AudienceField]
    let limit: Int

    static func parse(_ body: [UInt8]) throws -> MessageBreakdownOptions {
        let document = try JSONDocument(body, refusesNull: true)
        guard let root = document.root.object() else { throw JSONFaults(document.faults) }
        root.refuseUnknownMembers(besides: ["by", "limit"])
        let fields = fields(root)
        let limit = root.limit()
        try document.check()
        guard let fields, let limit else { throw StoreError.failed("a breakdown lacks a value and a fault") }
        return MessageBreakdownOptions(fields: fields, limit: limit)
    }

    private static func fields(_ root: JSONObject) -> [AudienceField]? {
        guard let array = root.required("by")?.array(elementsMax: BreakdownOptions.fieldsMax) else { return nil }
        var fields: [AudienceField] = []
        for element in array {
            guard let name = element.text() else { continue }
            guard let field = AudienceField(rawValue: name), allowed.contains(field) else {
                let hint = NearestName.hint(for: name, among: allowed.map(\.rawValue))
                element.refuse(.unknownField, "`by` does not accept this field. " + hint)
                continue
            }
            if fields.contains(field) { element.refuse(.duplicateMember, "The field occurs twice.") }
            fields.append(field)
        }
        if array.isEmpty { array.value.refuse(.required, "At least one field is required.") }
        return fields
    }
}

extension JSONWriter {
    /// `{asOf, groups: [{<field>…, counts}], rest: {groups, counts}}`.
    fileprivate init(_ breakdown: MessageBreakdown, by fields: [AudienceField]) {
        self.init(capacity: 192 * (breakdown.groups.count + 2))
        object { writer in
            writer.member("asOf", breakdown.asOf.description)
            writer.name("groups")
            writer.array { writer in
                for group in breakdown.groups {
                    writer.object { writer in
                        for (field, value) in zip(fields, group.values) {
                            writer.name(field.rawValue)
                            if let value { writer.string(value) } else { writer.null() }
                        }
                        writer.members(group.counts)
                    }
                }
            }
            writer.name("rest")
            writer.object { writer in
                writer.member("groups", breakdown.restGroups)
                writer.members(breakdown.rest)
            }
        }
    }
}
