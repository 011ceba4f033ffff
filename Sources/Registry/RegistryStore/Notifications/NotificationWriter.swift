import Basics
import PostgresClient
import PushRegistry

/// A queued post.
struct PendingPost: BatchedWrite {
    typealias Outcome = [PostedNotification]

    let post: NotificationPost
    /// Any two posts may share a transaction: posts to one installation are numbered in the order of the batch.
    let key = UniqueKey()

    var app: AppNumber { post.app }
}

/// Writes a batch of posts, all of one app, as one transaction of three round trips (R15). It reads the addressees
/// without locks; locks the counters of their epochs and reads the waiting notifications; and writes the decisions of
/// `NotificationBox`.
struct NotificationWriter: Sendable {
    private static let batchAttemptsMax = 4
    /// How often one post is tried. It starts over if an epoch ends between the look-up and the lock.
    private static let singleAttemptsMax = 40

    let postgres: PostgresClient
    let meters: NotificationMeters

    /// - Throws: `PostgresError`, `LostRace`: nothing was written.
    func write(
        _ batch: [PendingPost], _ patience: LockPatience
    ) async throws -> [Result<[PostedNotification], any Error>] {
        let posts = batch.map(\.post)
        let attemptsMax = batch.count > 1 ? Self.batchAttemptsMax : Self.singleAttemptsMax
        return try await postgres.withTransaction(attemptsMax: attemptsMax) { transaction in
            try await write(posts, patience, transaction)
        }
    }

    private func write(
        _ posts: [NotificationPost], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<[PostedNotification], any Error>] {
        let app = posts[0].app
        let addressees = try Addressees(
            try await transaction.execute(Addressees.statements(of: posts, in: app), patience))
        let targets = posts.map { post in
            Result { () throws(NotificationRefusal) in try addressees.targets(of: post) }
        }
        var boxes = LockedBoxes(posts, targets.map { (try? $0.get()) ?? [] })
        guard !boxes.isEmpty else { return targets.map { $0.map { _ in [] }.mapError { $0 } } }
        let results = try await transaction.execute(boxes.reads(in: app))
        try boxes.load(results)
        let outcomes = try targets.enumerated().map { index, targets -> Result<[PostedNotification], any Error> in
            switch targets {
            case .success(let targets): .success(try boxes.store(posts[index], index: index, for: targets))
            case .failure(let refusal): .failure(refusal)
            }
        }
        var last = boxes.writes(of: posts, in: app)
        for write in boxes.targets(of: posts, in: app) {
            if let statement = try await write.run(transaction) { last.append(statement) }
        }
        try await transaction.commit(after: last)
        meters.posted(boxes)
        return outcomes
    }
}

/// The boxes of the installations that a batch of posts has locked.
struct LockedBoxes {
    /// The epochs, in the order of the counters' locks.
    private let epochs: [(installID: InstallID, epoch: Int64)]
    private let dedups: [(installID: InstallID, dedupID: ExactText)]
    private var boxes: [InstallID: NotificationBox] = [:]
    private var now = Timestamp(microseconds: 0)
    /// The new notifications of posts that belong to a message.
    private var handedOut: [(post: Int, target: NotificationTarget)] = []
    /// How many notifications got the number of an earlier post (`dedupId`).
    private(set) var repeated = 0

    /// - Parameter targets: the installations of each post.
    init(_ posts: [NotificationPost], _ targets: [[NotificationTarget]]) {
        var epochs: [InstallID: Int64] = [:]
        var dedups: [(installID: InstallID, dedupID: ExactText)] = []
        for (post, targets) in zip(posts, targets) {
            for target in targets {
                epochs[target.installID] = target.epoch
                if let dedupID = post.dedupID { dedups.append((target.installID, dedupID)) }
            }
        }
        self.epochs = epochs.map { ($0, $1) }.sorted { $0.installID.rawValue < $1.installID.rawValue }
        self.dedups = dedups
    }

    var isEmpty: Bool { epochs.isEmpty }
    var stored: Int { boxes.values.reduce(0) { $0 + $1.added.count } }
    var dropped: Int { boxes.values.reduce(0) { $0 + $1.dropCount } }

    // MARK: Reading

    func reads(in app: AppNumber) -> [PostgresStatement] {
        let (ids, numbers) = (epochs.map(\.installID.rawValue), epochs.map(\.epoch))
        let reads = [
            NotificationStatements.holdEpochs(app.rawValue, ids, numbers),
            NotificationStatements.addCounters(app.rawValue, ids, numbers),
            NotificationStatements.lockCounters(app.rawValue, ids, numbers),
            NotificationStatements.waiting(app.rawValue, ids),
            RegistrationStatements.time(),
        ]
        guard !dedups.isEmpty else { return reads }
        return reads + [
            NotificationStatements.remembered(
                app.rawValue, dedups.map(\.installID.rawValue), dedups.map(\.dedupID.text))
        ]
    }

    /// - Parameter results: of `reads`.
    /// - Throws: `LostRace` if an epoch has ended since the addressees were read.
    mutating func load(_ results: [PostgresResult]) throws {
        guard results[2].count == epochs.count else { throw LostRace() }
        now = try results[4][0].decode(0, as: Timestamp.self)
        var waiting: [String: [NotificationBox.Waiting]] = [:]
        for row in results[3] {
            waiting[try row.decode(0), default: []].append(
                NotificationBox.Waiting(
                    number: try row.decode(1), expiresAt: try row.decode(2),
                    collapseID: try row.decode(3, as: String?.self).map { ExactText($0) }))
        }
        var remembered: [String: [ExactText: NotificationBox.Remembered]] = [:]
        for row in dedups.isEmpty ? [] : Array(results[5]) {
            let dedupID = ExactText(try row.decode(1))
            remembered[try row.decode(0), default: [:]][dedupID] = NotificationBox.Remembered(
                IssuedNumber(number: try row.decode(2), previous: try row.decode(3), receipt: try row.decode(4)),
                expiresAt: try row.decode(5))
        }
        for row in results[2] {
            let id = try row.decode(0, as: String.self)
            boxes[try InstallID(id)] = NotificationBox(
                last: try row.decode(1), dropped: try row.decode(2), waiting: waiting[id] ?? [],
                remembered: remembered[id] ?? [:])
        }
    }

    // MARK: Writing

    /// - Throws: `StoreError.failed` if a receipt cannot be sealed.
    mutating func store(
        _ post: NotificationPost, index: Int, for targets: [NotificationTarget]
    ) throws(StoreError) -> [PostedNotification] {
        var posted: [PostedNotification] = []
        for target in targets {
            guard let last = boxes[target.installID]?.last else { continue }
            let issued = try boxes[target.installID]?.store(post, index: index, at: now) { () throws(StoreError) in
                try post.message?.sealer.seal(target.installID, in: target.cell)
            }
            guard let issued, let badge = boxes[target.installID]?.badge(of: issued.number, at: now) else { continue }
            if issued.number <= last {
                repeated += 1
            } else if post.message != nil {
                handedOut.append((index, target))
            }
            posted.append(PostedNotification(target: target, issued: issued, badge: badge))
        }
        return posted
    }

    /// The writes that count installations for messages: one for each message, in the order of the messages' numbers.
    func targets(of posts: [NotificationPost], in app: AppNumber) -> [TargetWrite] {
        Dictionary(grouping: handedOut) { posts[$0.post].message?.message.number.rawValue ?? 0 }
            .sorted { $0.key < $1.key }
            .compactMap { _, parts in
                guard let message = posts[parts[0].post].message else { return nil }
                let targets = parts.map { part in
                    MessageTarget(
                        installation: message.sealer.hash(part.target.installID), cell: part.target.cell,
                        installID: part.target.installID.rawValue, userID: part.target.userID?.rawValue)
                }
                return TargetWrite(targets, for: message.message, of: app, at: now)
            }
    }

    func writes(of posts: [NotificationPost], in app: AppNumber) -> [PostgresStatement] {
        let changed = epochs.compactMap { id, _ in boxes[id].map { (id.rawValue, $0) } }.filter(\.1.isChanged)
        let removed = changed.flatMap { id, box in box.removed.map { (id, $0) } }
        let added = changed.flatMap { id, box in box.added.map { (id, $0.waiting, posts[$0.post]) } }
        let remembered = changed.flatMap { id, box in box.newlyRemembered.map { (id, $0, $1) } }
        return [
            changed.isEmpty
                ? nil
                : NotificationStatements.advance(
                    app.rawValue, changed.map(\.0), changed.map(\.1.last), changed.map(\.1.dropped)),
            removed.isEmpty
                ? nil
                : NotificationStatements.remove(app.rawValue, removed.map(\.0), removed.map(\.1)),
            added.isEmpty
                ? nil
                : NotificationStatements.add(
                    app.rawValue, added.map(\.0), added.map(\.1.number), added.map(\.2.payload),
                    added.map(\.1.collapseID?.text), added.map { _ in now.postgres },
                    added.map(\.1.expiresAt.postgres)),
            remembered.isEmpty
                ? nil
                : NotificationStatements.remember(
                    app.rawValue, remembered.map(\.0), remembered.map(\.1.text), remembered.map(\.2.issued.number),
                    remembered.map(\.2.issued.previous), remembered.map(\.2.issued.receipt),
                    remembered.map(\.2.expiresAt.postgres)),
        ].compactMap(\.self)
    }
}

/// A queued acknowledgement.
struct PendingAcknowledgement: BatchedWrite {
    typealias Outcome = Void

    let installation: InstallationKey
    let epoch: Int64
    let number: Int64

    var app: AppNumber { installation.app }
    var key: InstallID { installation.installID }
}

extension PendingAcknowledgement {
    /// Writes a batch of acknowledgements, all of one app, in one round trip (R15).
    static func write(
        _ batch: [PendingAcknowledgement], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<Void, any Error>] {
        let sorted = batch.sorted { $0.key.rawValue < $1.key.rawValue }
        let (ids, epochs, numbers) = (sorted.map(\.key.rawValue), sorted.map(\.epoch), sorted.map(\.number))
        try await transaction.commit(
            after: LockTimeoutStatements.of(patience) + [
                NotificationStatements.acknowledge(batch[0].app.rawValue, ids, epochs, numbers),
                NotificationStatements.forget(batch[0].app.rawValue, ids, epochs, numbers),
            ])
        return batch.map { _ in .success(()) }
    }
}
