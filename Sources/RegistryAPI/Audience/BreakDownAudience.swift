// POST /v1/apps/{app}/audience/breakdown

import HTTPServer
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var breakDownAudience: Route {
        Route(.post, Self.audiencePattern + "/breakdown", bodyBytesMax: AudienceLimits.bodyBytesMax) { request in
            let call = try await appCall(request, allowing: Self.audienceRoles)
            let bytes = try request.jsonBody()
            let body = try AudienceBody.parse(
                bytes, links: links, members: ["by", "limit", "explain"], BreakdownOptions.init)
            let audience = try await audience(body, of: call.app)
            let answer = try await audiences.breakDown(
                audience, by: body.options.fields, limit: body.options.limit,
                explains: body.explains)
            let notes = AudienceNote.notes(on: audience, unknown: answer.unknown, hasInclude: body.hasInclude) {
                FilterPlaces(bytes, $0, links: links)
            }
            return .json(JSONWriter(answer, by: body.options.fields, notes))
        }
    }
}

/// The members `by` and `limit`.
struct BreakdownOptions {
    static let fieldsMax = 3

    let fields: [AudienceField]
    let limit: Int

    /// Nil where a fault was added.
    init?(_ root: JSONObject) {
        let fields = Self.fields(root)
        guard let limit = root.limit(), let fields else { return nil }
        self.fields = fields
        self.limit = limit
    }

    private static func fields(_ root: JSONObject) -> [AudienceField]? {
        guard let array = root.required("by")?.array(elementsMax: fieldsMax) else { return nil }
        var fields: [AudienceField] = []
        for element in array {
            guard let name = element.text() else { continue }
            guard let field = AudienceField(rawValue: name), field.isDiscrete else {
                let names = AudienceField.allCases.filter(\.isDiscrete).map(\.rawValue)
                element.refuse(
                    .unknownField, "This is no field to group by. " + NearestName.hint(for: name, among: names))
                continue
            }
            if fields.contains(field) { element.refuse(.duplicateMember, "The field is named before.") }
            fields.append(field)
        }
        if !array.contains(where: { _ in true }) { array.value.refuse(.required, "This needs at least one field.") }
        return fields
    }
}

extension JSONWriter {
    /// `{asOf, total, groups: [{<field>…, count}], rest: {groups, count}}`.
    fileprivate init(_ answer: AudienceBreakdown, by fields: [AudienceField], _ notes: [AudienceNote]) {
        self.init(capacity: 96 * (answer.groups.count + 2))
        object { writer in
            writer.member("asOf", answer.asOf.description)
            writer.member("total", answer.total)
            writer.name("groups")
            writer.array { writer in
                for group in answer.groups { writer.group(group, by: fields) }
            }
            writer.name("rest")
            writer.object { writer in
                writer.member("groups", answer.restGroups)
                writer.member("count", answer.restCount)
            }
            writer.member(notes)
            writer.member(answer.plan)
        }
    }

    private mutating func group(_ group: AudienceBreakdown.Group, by fields: [AudienceField]) {
        object { writer in
            for (field, value) in zip(fields, group.values) {
                writer.name(field.rawValue)
                writer.value(value, of: field)
            }
            writer.member("count", group.count)
        }
    }

    /// A value in the field's JSON type, `null` where there is none.
    private mutating func value(_ text: String?, of field: AudienceField) {
        guard let text else { return null() }
        switch field.kind {
        case .offset, .flag: raw(text.utf8)
        default: string(text)
        }
    }
}
