import Basics

/// The notifications that wait for one installation in its present epoch, and the rules by which a post changes them
/// (fine print 60, 61, 63, 80, 103).
///
/// A value without I/O: a store loads the boxes that a batch of posts concerns under the locks of their counters,
/// applies the posts one after another, and writes the changes.
public struct NotificationBox: Sendable {
    /// A stored notification: it waits, or has expired.
    public struct Waiting: Hashable, Sendable {
        public let number: Int64
        public let expiresAt: Timestamp
        public let collapseID: ExactText?

        public init(number: Int64, expiresAt: Timestamp, collapseID: ExactText?) {
            (self.number, self.expiresAt, self.collapseID) = (number, expiresAt, collapseID)
        }
    }

    /// The numbers of an earlier post with a dedup id.
    public struct Remembered: Hashable, Sendable {
        public let issued: IssuedNumber
        public let expiresAt: Timestamp

        public init(_ issued: IssuedNumber, expiresAt: Timestamp) {
            (self.issued, self.expiresAt) = (issued, expiresAt)
        }
    }

    /// The highest number that the epoch has used.
    public private(set) var last: Int64
    /// The highest number that was dropped because too many waited.
    public private(set) var dropped: Int64
    /// In the order of their numbers.
    private var waiting: [Waiting]
    private var remembered: [ExactText: Remembered]

    // MARK: Rows to write

    /// Notifications to insert, with the index of their post in the batch.
    public private(set) var added: [(waiting: Waiting, post: Int)] = []
    /// Numbers of stored notifications to delete: replaced, dropped or expired.
    public private(set) var removed: [Int64] = []
    public private(set) var newlyRemembered: [ExactText: Remembered] = [:]
    /// How many notifications were dropped because too many waited.
    public private(set) var dropCount = 0

    /// - Parameters:
    ///   - waiting: all stored notifications of the installation, in the order of their numbers.
    ///   - remembered: by dedup id; complete for the posts that will be applied.
    public init(last: Int64, dropped: Int64, waiting: [Waiting], remembered: [ExactText: Remembered]) {
        (self.last, self.dropped) = (last, dropped)
        (self.waiting, self.remembered) = (waiting, remembered)
    }

    public var isChanged: Bool { !added.isEmpty || !removed.isEmpty || !newlyRemembered.isEmpty }

    /// How many notifications wait, this one counted: what an app shows as its badge. It counts even if the app has
    /// acknowledged it, as with a repeated post.
    public func badge(of number: Int64, at now: Timestamp) -> Int {
        1 + waiting.count { $0.expiresAt > now && $0.number != number }
    }

    /// Gives a post the next number, unless its dedup id is remembered: then it gets the same numbers again and nothing
    /// changes.
    ///
    /// - Parameters:
    ///   - index: of the post in its batch.
    ///   - seal: returns the receipt of a new number.
    public mutating func store<Failure: Error>(
        _ post: NotificationPost, index: Int, at now: Timestamp, sealing seal: () throws(Failure) -> String?
    ) throws(Failure) -> IssuedNumber {
        if let dedupID = post.dedupID, let known = remembered[dedupID], known.expiresAt > now { return known.issued }
        remove { $0.expiresAt <= now }
        if let collapseID = post.collapseID { remove { $0.collapseID == collapseID } }
        drop(waiting.count + 1 - post.waitingMax)
        let issued = IssuedNumber(number: last + 1, previous: waiting.last?.number ?? 0, receipt: try seal())
        let new = Waiting(
            number: issued.number, expiresAt: now.advanced(by: post.timeToLive), collapseID: post.collapseID)
        last = new.number
        waiting.append(new)
        added.append((new, index))
        if let dedupID = post.dedupID {
            remembered[dedupID] = Remembered(issued, expiresAt: new.expiresAt)
            newlyRemembered[dedupID] = remembered[dedupID]
        }
        return issued
    }

    /// Drops the oldest notifications, so all waiting numbers are above `dropped`.
    private mutating func drop(_ count: Int) {
        guard count > 0, let highest = waiting.prefix(count).last?.number else { return }
        dropped = highest
        dropCount += min(count, waiting.count)
        remove { $0.number <= highest }
    }

    private mutating func remove(where isGone: (Waiting) -> Bool) {
        let gone = waiting.filter(isGone).map(\.number)
        guard !gone.isEmpty else { return }
        waiting.removeAll(where: isGone)
        // Notifications that the same batch added are not stored yet.
        let unstored = Set(added.map(\.waiting.number)).intersection(gone)
        added.removeAll { unstored.contains($0.waiting.number) }
        removed += gone.filter { !unstored.contains($0) }
    }
}
