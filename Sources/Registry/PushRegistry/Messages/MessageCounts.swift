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
            self.values = values
            self.counts = counts
        }
    }

    public let asOf: Timestamp
    public let groups: [Group]
    /// The number of groups that `groups` leaves out.
    public let restGroups: Int
    public let rest: MessageCounts

    /// Keeps the largest groups and adds the others to the rest.
    ///
    /// If small groups are hidden, the rest has at least two groups: with a single one, it would reveal that group.
    ///
    /// - Parameters:
    ///   - groups: all groups, in the order in which they are shown: the largest first.
    ///   - limit: the most groups to show.
    ///   - smallestGroup: groups with fewer targeted installations are hidden.
    public init(asOf: Timestamp, _ groups: [Group], limit: Int, smallestGroup: Int) {
        let large = groups.filter { $0.counts.targeted >= Int64(smallestGroup) }
        var shown = large.prefix(limit)
        if large.count < groups.count, groups.count - shown.count == 1 { shown = shown.dropLast() }
        let isShown = Set(shown.map(\.values))
        let hidden = groups.filter { !isShown.contains($0.values) }
        self.asOf = asOf
        self.groups = Array(shown)
        restGroups = hidden.count
        rest = hidden.reduce(into: MessageCounts()) { $0 += $1.counts }
    }
}
