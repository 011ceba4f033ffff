import PushRegistry
import StrictJSON

/// Parses the condition on one field of a filter.
struct ConditionReader {
    let field: AudienceField
    /// The reader of the whole filter.
    let reader: FilterReader

    /// A plain value stands for `eq`, an array for `in`; an object contains operators.
    func condition(_ value: JSONValue) -> AudienceFilter {
        switch value.kind {
        case .object: operators(value)
        case .array: condition(.in, value)
        case .null: .everybody
        case .string, .number, .boolean: condition(.eq, value)
        }
    }

    private func operators(_ value: JSONValue) -> AudienceFilter {
        let members = value.object()?.members ?? []
        if members.isEmpty { value.refuse(.emptyCondition, "A condition needs at least one operator.") }
        return .all(
            members.map { member in
                guard let name = AudienceOperator(rawValue: member.name) else {
                    let names = field.operators.map(\.rawValue).sorted()
                    member.value.refuse(
                        .unknownMember, "No operator has this name. " + NearestName.hint(for: member.name, among: names)
                    )
                    return .everybody
                }
                return condition(name, member.value)
            })
    }

    private func condition(_ name: AudienceOperator, _ value: JSONValue) -> AudienceFilter {
        guard field.operators.contains(name) else {
            value.refuse(.operatorNotAllowed, field.supportedOperators)
            return .everybody
        }
        switch name {
        case .eq: return .condition(field, .oneOf([compared(value)].compactMap(\.self)))
        case .ne: return .not(.condition(field, .oneOf([compared(value)].compactMap(\.self))))
        case .in: return .condition(field, .oneOf(values(value)))
        case .nin: return .not(.condition(field, .oneOf(values(value))))
        case .gt, .gte, .lt, .lte:
            return condition(name.order.flatMap { order in self.value(value).map { .ordered(order, $0) } })
        case .exists: return exists(value)
        case .within: return condition(duration(value).map { .within($0) })
        case .between: return condition(range(value).map { .between($0) })
        case .near: return condition(circle(value).map { .near($0) })
        }
    }

    private func condition(_ predicate: FieldPredicate?) -> AudienceFilter {
        predicate.map { .condition(field, $0) } ?? .everybody
    }

    private func exists(_ value: JSONValue) -> AudienceFilter {
        guard value.kind != .null, let exists = value.boolean() else { return .everybody }
        return exists ? .condition(field, .exists) : .not(.condition(field, .exists))
    }
}

extension AudienceField {
    /// A sentence for errors that lists the operators.
    var supportedOperators: String {
        "\(rawValue) supports: \(operators.map(\.rawValue).sorted().joined(separator: ", "))."
    }
}

// MARK: - Values

extension ConditionReader {
    private func values(_ value: JSONValue) -> [AudienceValue] {
        let elementsMax = field == .userID ? AudienceFilter.usersMax : .max
        guard value.kind != .null, let array = value.array(elementsMax: elementsMax) else { return [] }
        // Notes on thousands of ids would help nobody.
        return array.compactMap { field == .userID ? self.value($0) : compared($0) }
    }

    private func compared(_ value: JSONValue) -> AudienceValue? {
        guard let parsed = self.value(value) else { return nil }
        reader.compared.append((ComparedValue(field, parsed), value))
        return parsed
    }

    /// Nil after a fault.
    private func value(_ value: JSONValue) -> AudienceValue? {
        switch (field.kind, value.kind) {
        case (_, .null): nil
        case (.offset, _):
            value.integer().flatMap { seconds in
                value.parsed { () throws(InvalidValue) in try AudienceField.offset(seconds) }
            }
        case (.flag, _): value.boolean().map { .flag($0) }
        default:
            value.parsedText { (text) throws(InvalidValue) in try field.value(text, in: reader.vocabulary) }
        }
    }

    private func duration(_ value: JSONValue) -> ISO8601Duration? {
        value.parsedText(ISO8601Duration.init(_:))
    }

    private func range(_ value: JSONValue) -> LocalTimeRange? {
        guard value.kind != .null, let array = value.array(elementsMax: 2) else { return nil }
        let bounds = array.map { $0.parsedText(LocalTime.init) }
        guard bounds.count == 2 else {
            value.refuse(.required, "This must be two times of day: start and end.")
            return nil
        }
        guard let start = bounds[0], let end = bounds[1] else { return nil }
        return value.parsed { () throws(InvalidValue) in try LocalTimeRange(start, end) }
    }

    private func circle(_ value: JSONValue) -> Circle? {
        guard value.kind != .null, let object = value.object() else { return nil }
        object.refuseUnknownMembers(besides: ["latitude", "longitude", "radiusKm"])
        let latitude = object.double("latitude", .required, in: Location.latitudes)
        let longitude = object.double("longitude", .required, in: Location.longitudes)
        let radius = object.double("radiusKm", .required, in: 0...Circle.radiusKmMax)
        guard let latitude, let longitude, let radius else { return nil }
        guard let circle = Circle(latitude: latitude, longitude: longitude, radiusKm: radius) else {
            object.refuse(member: "radiusKm", .outOfRange, "This must be above 0.")
            return nil
        }
        return circle
    }
}
