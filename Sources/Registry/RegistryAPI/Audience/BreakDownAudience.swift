// POST /v1/apps/{app}/audience/breakdown

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var breakDownAudience: Route {
        audienceRoute("/breakdown") { request, call in
            let body = try await request.parsedJSON { bytes in
                try AudienceBody.parse(
                    bytes, in: vocabulary(of: call.app), members: ["by", "limit", "kind", "name", "explain", "asOf"],
                    BreakdownOptions.init)
            }
            let audience = try await audience(body, for: call)
            let (fields, limit) = (body.options.fields, body.options.limit)
            let breakdown =
                if let day = body.options.asOf {
                    try await recorded(audience, by: fields) {
                        try await audiences.breakDown(audience, by: fields, limit: limit, on: day)
                    }
                } else {
                    try await audiences.breakDown(audience, by: fields, limit: limit, explains: body.explains)
                }
            let notes = AudienceNote.notes(
                on: audience, of: body, unknown: breakdown.unknown, by: fields)
            return .json(JSONWriter(breakdown, by: fields, notes))
        }
    }
}

/// The members `by`, `limit` and `asOf`.
struct BreakdownOptions {
    static let fieldsMax = 3

    let fields: [AudienceField]
    let limit: Int
    /// Nil: the present.
    let asOf: CalendarDay?

    /// Nil after a fault.
    init?(_ root: JSONObject) {
        let fields = root.breakdownFields(among: AudienceField.allCases.filter(\.isDiscrete))
        guard let limit = root.limit(), let fields, let asOf = root.asOf(without: ["explain"]) else { return nil }
        (self.fields, self.limit, self.asOf) = (fields, limit, asOf)
    }
}

extension JSONObject {
    /// The member `by`: from one to three different fields.
    ///
    /// - Returns: nil if there is no such array. Refuses invalid elements.
    func breakdownFields(among allowed: [AudienceField]) -> [AudienceField]? {
        guard let array = required("by")?.array(elementsMax: BreakdownOptions.fieldsMax) else { return nil }
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
    /// `{asOf, total, overlapping?, groups: [{<field>…, count}], rest: {groups, count}, notes?}`.
    init(_ breakdown: AudienceBreakdown, by fields: [AudienceField], _ notes: [AudienceNote]) {
        self.init(capacity: 96 * (breakdown.groups.count + 2)) { writer in
            writer.member("asOf", breakdown.asOf.description)
            writer.member("total", breakdown.total)
            if fields.contains(.topic) { writer.member("overlapping", true) }
            writer.array("groups", breakdown.groups) { $0.group($1, by: fields) }
            writer.object("rest") { writer in
                writer.member("groups", breakdown.restGroups)
                writer.member("count", breakdown.restCount)
            }
            writer.member(notes)
            writer.member(breakdown.plan)
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

    /// A value in the field's JSON type; `null` for a missing value.
    private mutating func value(_ text: String?, of field: AudienceField) {
        guard let text else { return null() }
        switch field.kind {
        case .offset, .flag: raw(text.utf8)
        default: string(text)
        }
    }
}
