import Basics
import Foundation
import PushRegistry

/// Filters of all shapes, about the values of random fleets.
struct RandomFilter {
    let links: TimeZoneLinks
    var fields = AudienceField.allCases.filter { $0 != .topic }
    /// For conditions on `topic`.
    var topics: [Topic] = []

    func make(_ dice: inout SeededGenerator, depth: Int = 4) -> AudienceFilter {
        switch depth > 1 ? dice.below(6) : 5 {
        case 0: .all(parts(&dice, depth))
        case 1: .any(parts(&dice, depth))
        case 2: .not(make(&dice, depth: depth - 1))
        default: condition(&dice)
        }
    }

    private func parts(_ dice: inout SeededGenerator, _ depth: Int) -> [AudienceFilter] {
        (0..<dice.below(4)).map { _ in make(&dice, depth: depth - 1) }
    }

    private func condition(_ dice: inout SeededGenerator) -> AudienceFilter {
        let field = dice.element(of: fields)
        return .condition(field, test(field, &dice))
    }

    private func test(_ field: AudienceField, _ dice: inout SeededGenerator) -> FieldPredicate {
        switch field.kind {
        case .localTime: return .between(range(&dice))
        case .location: return dice.isTrue(0.2) ? .exists : .near(circle(&dice))
        case .version, .offset, .time: return dice.isTrue(0.6) ? ordered(field, &dice) : one(field, &dice)
        case .choice, .text, .locale, .timeZone, .flag, .user: return one(field, &dice)
        case .topic: return .oneOf((0..<dice.below(3)).map { _ in value(field, &dice) })
        }
    }

    private func one(_ field: AudienceField, _ dice: inout SeededGenerator) -> FieldPredicate {
        dice.isTrue(0.15) ? .exists : .oneOf((0..<dice.below(5)).map { _ in value(field, &dice) })
    }

    private func ordered(_ field: AudienceField, _ dice: inout SeededGenerator) -> FieldPredicate {
        if field.kind == .time, dice.isTrue(0.3) { return .within(.hours(Int64(dice.below(2_400)))) }
        return .ordered(
            dice.element(of: [AudienceOrder.less, .lessOrEqual, .greater, .greaterOrEqual]), value(field, &dice))
    }

    private func value(_ field: AudienceField, _ dice: inout SeededGenerator) -> AudienceValue {
        switch field.kind {
        case .choice(let names): .text(dice.element(of: names))
        case .locale: .locale(LocaleIdentifier(dice.element(of: Traits.locales)))
        case .timeZone: .text(links.resolve(dice.element(of: Traits.zones)))
        case .flag: .flag(dice.isTrue(0.5))
        case .version: .version(dice.element(of: Traits.versions.compactMap { Version($0) }))
        case .offset: .offset(dice.element(of: [0, 3_600, -12_600, 19_800, 20_700, 49_500, -39_600, 50_400]))
        case .time: .time(FleetMember.moment(hoursAgo: dice.below(100 * 24)))
        case .topic: .topic(dice.element(of: topics))
        case .user: .text(dice.element(of: ["user-0", "user-3", "user-5", "nobody"]))
        case .text, .localTime, .location: .text(dice.element(of: Traits.texts))
        }
    }

    private func range(_ dice: inout SeededGenerator) -> LocalTimeRange {
        while true {
            let bounds = (0..<2).map { _ in "\(["00", "06", "09", "12", "18", "23", "24"][dice.below(7)]):00" }
            guard let start = try? LocalTime(bounds[0]), let end = try? LocalTime(bounds[1]),
                let range = try? LocalTimeRange(start, end)
            else { continue }
            return range
        }
    }

    private func circle(_ dice: inout SeededGenerator) -> Circle {
        let place = dice.element(of: Traits.places)
        let radius = dice.element(of: [0.5, 3, 500, 935, 5_000, 12_000, 20_038])
        guard let circle = Circle(latitude: place.0, longitude: place.1, radiusKm: radius) else {
            preconditionFailure("a place on earth")
        }
        return circle
    }
}
