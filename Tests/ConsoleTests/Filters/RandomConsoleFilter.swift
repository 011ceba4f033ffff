import Basics
import PushRegistry
import RegistryTestSupport

/// Makes valid filters of any shape that the service accepts.
struct RandomConsoleFilter {
    static let topics = ["news", "offers"]
    static let segments = ["germans", "beta"]

    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// A filter whose objects are nested at most `depth` deep.
    mutating func filter(depth: Int = AudienceFilter.depthMax) -> JSON {
        var members: [String: JSON] = [:]
        for _ in 0..<pick([0, 1, 1, 1, 2, 3, 4]) {
            let (name, value) = member(depth)
            members[name] = value
        }
        return .object(members)
    }

    private mutating func member(_ depth: Int) -> (String, JSON) {
        switch Int.random(in: 0..<(depth > 1 ? 10 : 6), using: &random) {
        case 0: return ("segment", .string(pick(Self.segments)))
        case 6, 7:
            return (pick(["all", "any"]), .array((0..<pick([0, 1, 2, 3])).map { _ in filter(depth: depth - 1) }))
        case 8, 9: return ("not", filter(depth: depth - 1))
        default:
            let field = pick(AudienceField.allCases)
            return (field.rawValue, condition(field))
        }
    }

    private mutating func condition(_ field: AudienceField) -> JSON {
        let operators = field.operators.sorted { $0.rawValue < $1.rawValue }
        if field == .userID, pick([true, false]) { return list(field) }
        if field.operators.contains(.eq) {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: return value(field)
            case 1: return list(field)
            default: break
            }
        }
        var members: [String: JSON] = [:]
        for _ in 0..<pick([1, 1, 2, 3]) {
            let name = pick(operators)
            members[name.rawValue] = operand(name, field)
        }
        return .object(members)
    }

    private mutating func operand(_ name: AudienceOperator, _ field: AudienceField) -> JSON {
        switch name {
        case .in, .nin: list(field)
        case .exists: .boolean(pick([true, false]))
        case .within: .string(pick(["P30D", "PT12H", "P2W", "P1DT6H"]))
        case .between: pick([["09:00", "21:00"], ["22:00", "06:30"], ["18:00", "24:00"]])
        case .near: ["latitude": .number(52.52), "longitude": .integer(13), "radiusKm": .integer(pick([1, 50]))]
        case .eq, .ne, .gt, .gte, .lt, .lte: value(field)
        }
    }

    private mutating func list(_ field: AudienceField) -> JSON {
        .array((0..<pick([0, 1, 2, 4])).map { _ in value(field) })
    }

    private mutating func value(_ field: AudienceField) -> JSON {
        switch field.kind {
        case .choice(let names): .string(pick(names))
        case .text: .string(pick(["iOS", "a, b", "\u{202E}evil", "<b>", "'; --", "\"", "é", "x/y~z"]))
        case .locale: .string(pick(["de", "de_DE", "zh_Hans_CN", "no locale"]))
        case .timeZone: .string(pick(["Europe/Berlin", "Asia/Calcutta", "Mars/Base"]))
        case .flag: .boolean(pick([true, false]))
        case .version: .string(pick(["17", "17.2", "17.10.1"]))
        case .offset: .integer(pick([0, 3_600, -12_600]))
        case .time: .string(pick(["2026-01-01T00:00:00Z", "2026-05-01T12:30:15.5+02:00"]))
        case .topic: .string(pick(Self.topics))
        case .user: .string(pick(["alice", "bob"]))
        case .localTime, .location: true
        }
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &random)]
    }
}
