import Basics
import PostgresClient
import PushRegistry

/// An audience that a cube can answer: the cells have all of its fields.
struct CubeQuery: Sendable {
    let audience: Audience
    let fields: [AudienceField]

    /// Nil if only the installations have all fields, or if the filter has several topics that are not locked: the
    /// roll-up counts the choices about each topic separately. Of typed tokens, it counts those of a kind that reach
    /// somebody, whatever their names and the choices of their installations are.
    ///
    /// - Parameter fields: those of the query, in addition to the filter's.
    init?(_ audience: Audience, by fields: [AudienceField] = []) {
        let openMax = fields.contains(.topic) || audience.tokens != nil ? 0 : 1
        if let tokens = audience.tokens {
            guard tokens.name == nil, audience.include == .reachable, !fields.contains(.topic) else { return nil }
        }
        guard audience.filter.fields.union(fields).allSatisfy(\.isOfCells),
            audience.filter.openTopics.count <= openMax
        else { return nil }
        (self.audience, self.fields) = (audience, fields)
    }

    /// The layer that counts what is selected, if everybody is.
    private var layer: Int32 { audience.tokens.map { RollUpLayer.tokens(of: $0.kind) } ?? RollUpLayer.installations }

    /// The layers whose counts the answer needs, and that of all installations.
    var choices: [Int32] {
        if audience.tokens != nil { return [RollUpLayer.installations, layer] }
        let topics = fields.contains(.topic) ? audience.topics.topics : Array(audience.filter.openTopics)
        return [0] + topics.filter { !$0.content.isLocked }.map(\.decision)
    }

    var needsZones: Bool { audience.filter.fields.union(fields).contains(where: \.needsZones) }

    /// Whether the answer is right although some cells have no more than their provider and authorization.
    var needsNoTexts: Bool {
        audience.filter.fields.union(fields).isSubset(of: [.provider, .authorizationStatus, .topic])
    }

    /// The number of selected installations.
    func count(in view: CubeView) -> Int64 { counts(in: [view])[0] }

    /// The number of selected installations in each view. The views have the same cells.
    func counts(in views: [CubeView]) -> [Int64] {
        guard let first = views.first else { return [] }
        // What the zones are depends on the moment, and nothing else does.
        guard views.count == 1 || !needsZones else { return views.map { count(in: $0) } }
        let (filter, include) = (CubeFilter(first), audience.include)
        guard let topic = audience.filter.openTopics.first else {
            let matches = filter.matches(audience.filter, isSubscribed: true)
            return views.map { $0.sum(layer, include, where: matches) }
        }
        // As in `selected`.
        let isIn = topic.content.isInByDefault
        let usual = filter.matches(audience.filter, isSubscribed: isIn)
        let other = filter.matches(audience.filter, isSubscribed: !isIn)
        return views.map { view in
            view.sum(layer, include, where: usual) - view.sum(topic.decision, include, where: usual)
                + view.sum(topic.decision, include, where: other)
        }
    }

    /// The number of selected installations of each cell.
    func selected(in view: CubeView) -> [Int64] {
        let filter = CubeFilter(view)
        var counts = view.counts(layer, audience.include)
        guard let topic = audience.filter.openTopics.first else {
            let matches = filter.matches(audience.filter, isSubscribed: true)
            for cell in counts.indices where !matches[cell] { counts[cell] = 0 }
            return counts
        }
        // Installations without a choice are on the side of the default, those with the opposite choice on the other.
        let decided = view.counts(topic.decision, audience.include)
        let isIn = topic.content.isInByDefault
        let (usual, other) = (
            filter.matches(audience.filter, isSubscribed: isIn), filter.matches(audience.filter, isSubscribed: !isIn)
        )
        for cell in counts.indices {
            counts[cell] = (usual[cell] ? counts[cell] - decided[cell] : 0) + (other[cell] ? decided[cell] : 0)
        }
        return counts
    }
}

// MARK: - Zones

extension CubeQuery {
    /// A SELECT: the zones of the selected installations, as `AudienceStatements.waves` reads them.
    func zones(in view: CubeView) -> PostgresSQL {
        let (counts, cells) = (selected(in: view), view.cells)
        var sums: [SIMD2<Int32>: Int64] = [:]
        for cell in counts.indices where counts[cell] != 0 {
            sums[SIMD2(cells.zones[cell], cells.offsets[cell]), default: 0] += counts[cell]
        }
        let rows = sums.filter { $0.value > 0 }.map { key, count in
            let name = cells.texts[Int(key[0])].text
            return (
                name: name == Device.noTimeZone ? nil : name, isUnknown: view.zones[ExactText(name)] == nil,
                offset: key[1] == Device.noTimeZoneOffset ? nil : key[1], count: count
            )
        }
        return """
            SELECT zone_id, is_unknown, CASE WHEN is_unknown THEN sent_offset END AS sent_offset, number
            FROM unnest(\(rows.map(\.name)), \(rows.map(\.isUnknown)), \(rows.map(\.offset)), \(rows.map(\.count)))
                AS k (zone_id, is_unknown, sent_offset, number)
            """
    }
}

extension Topic {
    /// The choice against the default, as `TopicChoices` codes it.
    var decision: Int32 { content.isInByDefault ? -number.rawValue : number.rawValue }
}

// MARK: - Groups

extension CubeQuery {
    struct Groups: Sendable {
        /// The largest, as `AudienceStore.breakDown` orders them.
        let groups: [AudienceBreakdown.Group]
        /// The sum of the counts of all groups, and the number of groups.
        let counted: Int64
        let count: Int
    }

    func breakdown(
        of view: CubeView, limit: Int, unknown: [UnknownValue] = [], plan: AudiencePlan? = nil
    ) -> AudienceBreakdown {
        let result = groups(in: view, limit: limit)
        let total = fields.contains(.topic) ? count(in: view) : result.counted
        return AudienceBreakdown(
            asOf: view.moment.asOf, total: total, counted: result.counted, groups: result.groups,
            restGroups: Int64(result.count - result.groups.count), unknown: unknown, plan: plan)
    }

    func groups(in view: CubeView, limit: Int) -> Groups {
        let keys = fields.map { GroupKey($0, view, audience.topics.topics) }
        var table = GroupTable()
        var counts = selected(in: view)
        if fields.contains(.topic) {
            let matches = CubeFilter(view).matches(audience.filter, isSubscribed: true)
            let all = counts
            for (number, topic) in audience.topics.topics.enumerated() {
                let decided = topic.content.isLocked ? nil : view.counts(topic.decision, audience.include)
                for cell in counts.indices {
                    let chosen = matches[cell] ? decided?[cell] ?? 0 : 0
                    counts[cell] = topic.content.isInByDefault ? all[cell] - chosen : chosen
                }
                table.add(counts, by: keys, of: view.cells, topic: Int32(number))
            }
        } else {
            table.add(counts, by: keys, of: view.cells, topic: 0)
        }
        var best: [Int] = []
        for group in table.counts.indices where table.counts[group] > 0 {
            if best.count == limit, let last = best.last, !precedes(group, last, table, keys) { continue }
            var (low, high) = (0, best.count)
            while low < high {
                let middle = (low + high) / 2
                if precedes(best[middle], group, table, keys) { low = middle + 1 } else { high = middle }
            }
            best.insert(group, at: low)
            if best.count > limit { best.removeLast() }
        }
        return Groups(
            groups: best.map { group in
                AudienceBreakdown.Group(
                    values: keys.indices.map { index in
                        keys[index].name(table.keys[group][index], table.spellings[group], view.cells)
                    },
                    count: table.counts[group])
            },
            counted: table.counts.reduce(0, +), count: table.counts.count { $0 > 0 })
    }

    private func precedes(_ left: Int, _ right: Int, _ table: GroupTable, _ keys: [GroupKey]) -> Bool {
        guard table.counts[left] == table.counts[right] else { return table.counts[left] > table.counts[right] }
        for index in keys.indices where table.keys[left][index] != table.keys[right][index] {
            return keys[index].precedes(table.keys[left][index], table.keys[right][index])
        }
        return false
    }
}

/// The groups of a field: numbers that have names.
private struct GroupKey {
    private let field: AudienceField
    /// By cell; empty for topics.
    let column: [Int32]
    /// By number, for fields whose numbers are indices. Nil: no value.
    private let names: [String?]
    private let versions: [Version?]

    init(_ field: AudienceField, _ view: CubeView, _ topics: [Topic]) {
        self.field = field
        let cells = view.cells
        let texts = cells.texts.map(\.text)
        (column, names) =
            switch field {
            case .provider: (cells.providers, Provider.allCases.map(\.rawValue))
            case .authorizationStatus: (cells.authorizations, AuthorizationStatus.allCases.map(\.rawValue))
            case .locale: (cells.locales, texts)
            case .timeZone: (cells.zones, texts.map { $0 == Device.noTimeZone ? nil : $0 })
            case .systemName: (cells.systems, texts)
            case .osVersion: (cells.versions, [])
            case .utcOffset: (CubeFilter(view).offsets.map { $0.map(Int32.init) ?? Self.noOffset }, [])
            case .topic: ([], topics.map(\.slug.rawValue))
            default: preconditionFailure("cells do not have the field")
            }
        versions = field == .osVersion ? [nil] + cells.texts.dropFirst().map(\.version) : []
    }

    private static let noOffset = Int32.min

    /// - Parameter spelling: of a version.
    func name(_ key: Int32, _ spelling: Int32, _ cells: CubeCells) -> String? {
        switch field {
        case .osVersion: key == 0 ? nil : cells.texts[Int(spelling)].text
        case .utcOffset: key == Self.noOffset ? nil : "\(key)"
        default: names[Int(key)]
        }
    }

    /// Versions and numbers in their own order, the rest as texts. A missing value is the last one.
    func precedes(_ left: Int32, _ right: Int32) -> Bool {
        switch field {
        case .osVersion: Self.precedes(versions[Int(left)], versions[Int(right)], by: <)
        case .utcOffset: right == Self.noOffset || left != Self.noOffset && left < right
        default:
            Self.precedes(names[Int(left)], names[Int(right)]) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
    }

    private static func precedes<Value>(_ left: Value?, _ right: Value?, by order: (Value, Value) -> Bool) -> Bool {
        guard let left else { return false }
        return right.map { order(left, $0) } ?? true
    }
}

/// Sums counts by up to three numbers. A hash table with open addressing: hundreds of thousands of cells are summed for
/// a breakdown, and Dictionary takes most of that time.
private struct GroupTable {
    private(set) var keys: [SIMD4<Int32>] = []
    private(set) var counts: [Int64] = []
    /// Of several spellings of a version the first, which is the shortest one with nothing behind the number.
    private(set) var spellings: [Int32] = []
    /// Indices of groups, or -1. At most half of the slots are used.
    private var slots = [Int32](repeating: -1, count: 1_024)

    mutating func add(_ counts: [Int64], by columns: [GroupKey], of cells: CubeCells, topic: Int32) {
        for cell in counts.indices where counts[cell] != 0 {
            var key = SIMD4<Int32>()
            for index in columns.indices {
                key[index] = columns[index].column.isEmpty ? topic : columns[index].column[cell]
            }
            let group = group(of: key, cells.spellings[cell])
            self.counts[group] += counts[cell]
            let (old, new) = (Int(spellings[group]), Int(cells.spellings[cell]))
            if old != new, cells.texts[new].text.utf8.lexicographicallyPrecedes(cells.texts[old].text.utf8) {
                spellings[group] = Int32(new)
            }
        }
    }

    private mutating func group(of key: SIMD4<Int32>, _ spelling: Int32) -> Int {
        var slot = Self.hash(key) & (slots.count - 1)
        while slots[slot] >= 0 {
            if keys[Int(slots[slot])] == key { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        slots[slot] = Int32(keys.count)
        keys.append(key)
        counts.append(0)
        spellings.append(spelling)
        if keys.count * 2 > slots.count { grow() }
        return keys.count - 1
    }

    private mutating func grow() {
        slots = [Int32](repeating: -1, count: slots.count * 2)
        for group in keys.indices {
            var slot = Self.hash(keys[group]) & (slots.count - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(group)
        }
    }

    private static func hash(_ key: SIMD4<Int32>) -> Int {
        var hash: UInt64 = 0
        for index in 0..<3 { hash = (hash ^ UInt64(UInt32(bitPattern: key[index]))) &* 0x9E37_79B9_7F4A_7C15 }
        return Int(truncatingIfNeeded: hash >> 32)
    }
}
