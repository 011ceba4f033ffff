import Basics
import PostgresClient
import PushRegistry

/// A filter over the cells of a cube, as `AudiencePredicate` has it over installations: each condition is true or false
/// (R16).
struct CubeFilter {
    private let cells: CubeCells
    private let asOf: Timestamp
    private let zones: [ExactText: Int64]

    init(_ view: CubeView) {
        (cells, asOf, zones) = (view.cells, view.moment.asOf, view.zones)
    }

    /// Which cells the filter selects.
    ///
    /// - Parameter isSubscribed: whether the installations are subscribed to the filter's topic that is not locked.
    func matches(_ filter: AudienceFilter, isSubscribed: Bool) -> [Bool] {
        switch filter {
        case .all(let parts): joined(parts, isSubscribed, true)
        case .any(let parts): joined(parts, isSubscribed, false)
        case .not(let part): matches(part, isSubscribed: isSubscribed).map { !$0 }
        case .condition(.topic, let test): every(holds(test, isSubscribed: isSubscribed))
        case .condition(let field, let test): matches(field, test)
        case .segment: preconditionFailure("segments are expanded before")
        }
    }

    /// - Parameter none: the value of no parts: true for `all`, false for `any`.
    private func joined(_ parts: [AudienceFilter], _ isSubscribed: Bool, _ none: Bool) -> [Bool] {
        guard let first = parts.first else { return every(none) }
        var result = matches(first, isSubscribed: isSubscribed)
        for part in parts.dropFirst() {
            let more = matches(part, isSubscribed: isSubscribed)
            for cell in result.indices where more[cell] != none { result[cell] = !none }
        }
        return result
    }

    private func every(_ value: Bool) -> [Bool] { [Bool](repeating: value, count: cells.count) }

    private func holds(_ test: FieldPredicate, isSubscribed: Bool) -> Bool {
        guard case .oneOf(let values) = test, !values.isEmpty else { return false }
        return isSubscribed
            || values.contains { if case .topic(let topic) = $0 { topic.content.isLocked } else { false } }
    }

    private func matches(_ field: AudienceField, _ test: FieldPredicate) -> [Bool] {
        switch field {
        case .provider:
            matches(cells.providers, of: Provider.allCases.count) { holds(test, Provider.allCases[$0].rawValue) }
        case .authorizationStatus:
            matches(cells.authorizations, of: AuthorizationStatus.allCases.count) {
                holds(test, AuthorizationStatus.allCases[$0].rawValue)
            }
        case .locale: matches(cells.locales, locales(test))
        case .systemName: matches(cells.systems) { holds(test, cells.texts[$0].text) }
        case .timeZone:
            matches(cells.zones) { cells.texts[$0].text != Device.noTimeZone && holds(test, cells.texts[$0].text) }
        case .osVersion: matches(cells.versions, versions(test))
        case .utcOffset, .localTime: offsets.map { offset in offset.map { holds(test, $0) } ?? false }
        default: preconditionFailure("cells do not have the field")
        }
    }

    /// - Parameters:
    ///   - count: the number of possible values; nil for texts.
    ///   - transform: called once for each value of the column, of which there are few.
    private func matches<Value>(_ column: [Int32], of count: Int? = nil, _ transform: (Int) -> Value) -> [Value] {
        var known = [Value?](repeating: nil, count: count ?? cells.texts.count)
        return column.map { value in
            if let known = known[Int(value)] { return known }
            let result = transform(Int(value))
            known[Int(value)] = result
            return result
        }
    }
}

// MARK: - Conditions

extension CubeFilter {
    private func holds(_ test: FieldPredicate, _ text: String) -> Bool {
        switch test {
        case .exists: true
        case .oneOf(let values): values.contains(.text(ExactText(text)))
        case .ordered, .within, .between, .near: false
        }
    }

    /// The locale is one of these, or one of them includes it.
    private func locales(_ test: FieldPredicate) -> (Int) -> Bool {
        guard case .oneOf(let values) = test else { return { _ in test == .exists } }
        let wanted = values.compactMap { if case .locale(let locale) = $0 { locale } else { nil } }
        let (exact, wider) = (Set(wanted.map { ExactText($0.text) }), Set(wanted.filter(\.isParsed).map(\.text)))
        return { [cells] index in
            let text = cells.texts[index]
            return exact.contains(ExactText(text.text))
                || text.locale.isParsed && text.locale.ancestry.dropLast().contains(where: wider.contains)
        }
    }

    private func versions(_ test: FieldPredicate) -> (Int) -> Bool {
        let wanted: Set<AudienceValue> = if case .oneOf(let values) = test { Set(values) } else { [] }
        return { [cells] index in
            // Text 0 is none.
            guard index > 0, let version = cells.texts[index].version else { return false }
            switch test {
            case .exists: return true
            case .oneOf: return wanted.contains(.version(version))
            case .ordered(let order, .version(let bound)): return order.holds(version, bound)
            case .ordered, .within, .between, .near: return false
            }
        }
    }

    private func holds(_ test: FieldPredicate, _ offset: Int64) -> Bool {
        switch test {
        case .exists: return true
        case .oneOf(let values): return values.contains(.offset(offset))
        case .ordered(let order, .offset(let bound)): return order.holds(offset, bound)
        case .between(let range):
            // Seconds from midnight where the device is.
            let seconds = ((asOf.microseconds / 1_000_000) % 86_400 + offset) % 86_400
            return range.contains(Int((seconds + 86_400) % 86_400))
        case .ordered, .within, .near: return false
        }
    }

    /// The offset of each cell's zone; that which was sent if PostgreSQL does not know the zone. Nil if an import knew
    /// neither.
    var offsets: [Int64?] {
        let known = matches(cells.zones) { zones[ExactText(cells.texts[$0].text)] }
        return cells.zones.indices.map { cell in
            if let offset = known[cell] { return offset }
            return cells.offsets[cell] == Device.noTimeZoneOffset ? nil : Int64(cells.offsets[cell])
        }
    }
}
