import Basics

/// The number of installations for each event of a message.
public struct MessageCounts: Hashable, Sendable {
    public var targeted: Int64 = 0
    public var accepted: Int64 = 0
    public var failed: Int64 = 0
    public var delivered: Int64 = 0
    public var opened: Int64 = 0
    public var dismissed: Int64 = 0

    public init() {}

    public static func += (left: inout MessageCounts, right: MessageCounts) {
        left.targeted += right.targeted
        left.accepted += right.accepted
        left.failed += right.failed
        left.delivered += right.delivered
        left.opened += right.opened
        left.dismissed += right.dismissed
    }

    /// Adds one to the count of each event in the set.
    public mutating func count(_ events: MessageEvents) {
        if events.contains(.targeted) { targeted += 1 }
        if events.contains(.accepted) { accepted += 1 }
        if events.contains(.failed) { failed += 1 }
        if events.contains(.delivered) { delivered += 1 }
        if events.contains(.opened) { opened += 1 }
        if events.contains(.dismissed) { dismissed += 1 }
    }
}

/// A message's counts by the values of some fields.
public struct MessageBreakdown: Hashable, Sendable {
    public struct Group: Hashable, Sendable {
        /// One text for each field; nil without a value.
        public let values: [String?]
        public let counts: MessageCounts

        public init(values: [String?], counts: MessageCounts) {
            (self.values, self.counts) = (values, counts)
        }

        fileprivate var key: [ExactText?] { values.map { $0.map { ExactText($0) } } }
    }

    public let asOf: Timestamp
    public let groups: [Group]
    /// The number of groups that `groups` leaves out.
    public let restGroups: Int
    public let rest: MessageCounts

    /// Keeps the largest groups and adds the others to the rest.
    ///
    /// If small groups are hidden, the rest has at least two groups: with a single one, it would reveal that group. And
    /// so that no subtraction from a coarser table reveals them, see `SmallGroups`.
    ///
    /// - Parameters:
    ///   - groups: all groups, in the order in which they are shown: the largest first.
    ///   - limit: the most groups to show.
    ///   - smallestGroup: groups with fewer targeted installations are hidden.
    public init(asOf: Timestamp, _ groups: [Group], limit: Int, smallestGroup: Int) {
        let small = SmallGroups(groups, below: Int64(smallestGroup)).hidden
        let shown = groups.filter { !small.contains($0.key) }.prefix(limit)
        let isShown = Set(shown.map(\.key))
        let hidden = groups.filter { !isShown.contains($0.key) }
        self.asOf = asOf
        self.groups = Array(shown)
        restGroups = hidden.count
        rest = hidden.reduce(into: MessageCounts()) { $0 += $1.counts }
    }
}

/// The groups of a table that are hidden because they are small, or because a subtraction would reveal a small one
/// (fine print 100).
///
/// The rest must have several groups: else the smallest group shown is hidden, too. The same message can be broken down
/// by fewer fields. The groups of that table are sums of those of this one, so a group that it shows less the groups in
/// it that this table shows is the sum of those that are hidden here. This sum must not be small: else the smallest
/// group shown is hidden, too. A group within a hidden one of a coarser table is hidden. All coarser tables follow from
/// this one, so each call hides the same groups.
private struct SmallGroups {
    /// The values of some of the fields.
    typealias Key = [ExactText?]

    /// By the set of fields, as bits.
    private var sums: [Int: [Key: Int64]] = [:]
    private var hiddenKeys: [Int: Set<Key>] = [:]
    private let smallest: Int64
    private let allFields: Int

    /// The values of the hidden groups.
    var hidden: Set<Key> { hiddenKeys[allFields] ?? [] }

    init(_ groups: [MessageBreakdown.Group], below smallest: Int64) {
        self.smallest = smallest
        allFields = (1 << (groups.first?.values.count ?? 0)) - 1
        guard smallest > 1 else { return }
        // A set of fields follows its subsets.
        for fields in 0...allFields {
            sums[fields] = groups.reduce(into: [:]) {
                $0[Self.key($1.key, fields, within: allFields), default: 0] += $1.counts.targeted
            }
            if fields > 0 { hide(in: fields) }
        }
    }

    private static func key(_ values: Key, _ fields: Int, within all: Int) -> Key {
        let present = (0..<Int.bitWidth).filter { all >> $0 & 1 == 1 }
        return zip(present, values).filter { fields >> $0.0 & 1 == 1 }.map(\.1)
    }

    private mutating func hide(in fields: Int) {
        let groups = sums[fields] ?? [:]
        let coarser = (0..<fields).filter { $0 & fields == $0 }
        var hidden = Set(
            groups.filter { key, sum in
                sum < smallest
                    || coarser.contains { hiddenKeys[$0]?.contains(Self.key(key, $0, within: fields)) == true }
            }.keys)
        for parentFields in coarser {
            for (parent, members) in Dictionary(
                grouping: groups.keys, by: { Self.key($0, parentFields, within: fields) })
            where hiddenKeys[parentFields]?.contains(parent) != true {
                let left = members.filter(hidden.contains)
                let sum = left.reduce(0) { $0 + (groups[$1] ?? 0) }
                guard parentFields == 0 ? left.count == 1 : sum > 0 && sum < smallest else { continue }
                let shown = members.filter { !hidden.contains($0) }
                let next = shown.min { (groups[$0] ?? 0, Self.order($0)) < (groups[$1] ?? 0, Self.order($1)) }
                if let next { hidden.insert(next) }
            }
        }
        hiddenKeys[fields] = hidden
    }

    /// Of groups of one size, each call must hide the same.
    private static func order(_ key: Key) -> ExactText {
        ExactText(key.map { $0.map { "\u{1}" + $0.text } ?? "" }.joined())
    }
}
