import Metrics
import PostgresClient
import PushRegistry

/// Numbered notifications in PostgreSQL. Each event loop has one store.
public struct PostgresNotificationStore: NotificationStore {
    private let resources: LoopResources
    private let writer: NotificationWriter
    private let posts: WriteCoalescer<PendingPost>
    private let acknowledgements: WriteCoalescer<PendingAcknowledgement>
    private let states: ReadCoalescer<StateRead>

    public init(_ resources: LoopResources) {
        self.resources = resources
        let writer = NotificationWriter(postgres: resources.postgres, meters: NotificationMeters())
        self.writer = writer
        posts = WriteCoalescer(resources, meters: WriteMeters("notification"), body: writer.write)
        let fetchMeters = WriteMeters("notification_fetch")
        acknowledgements = WriteCoalescer(
            resources, meters: fetchMeters, transaction: PendingAcknowledgement.write)
        states = ReadCoalescer(resources, meters: fetchMeters)
    }

    /// Executes queued posts and fetches until it is cancelled.
    public func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await posts.run() }
            group.addTask { await acknowledgements.run() }
            group.addTask { await states.run() }
        }
    }

    /// A post to one user or installation shares a transaction with other posts. A post to many users has its own: it
    /// is as large as a batch, and other posts would wait for its locks.
    public func post(_ post: NotificationPost) async throws -> [PostedNotification] {
        guard case .users(let users) = post.addressee, users.count > 1 else {
            return try await posts.write(PendingPost(post: post))
        }
        return try await resources.storing(post.app, refusing: NotificationRefusal.self) {
            try await resources.lone.withTurn(of: post.app) {
                try await writer.write([PendingPost(post: post)], .alone)[0].get()
            }
        }
    }

    public func state(
        of key: InstallationKey, ifDirectoryIs version: Int64?
    ) async throws -> NotificationState? {
        try await states.find(StateRead(key: key, directoryVersion: version))
    }

    public func page(
        of key: InstallationKey, in epoch: Int64, after number: Int64, limit: Int
    ) async throws -> NotificationPage? {
        try await resources.storing(key.app) {
            // Reads one row more than requested: it shows whether another page follows.
            let rows = try await resources.postgres.read(
                NotificationStatements.page(key.app.rawValue, key.installID.rawValue, epoch, number, Int64(limit) + 1))
            return rows.isEmpty ? nil : try NotificationPage(rows, limit: limit)
        }
    }

    public func acknowledge(_ number: Int64, of key: InstallationKey, in epoch: Int64) async throws {
        try await acknowledgements.write(PendingAcknowledgement(installation: key, epoch: epoch, number: number))
    }
}

/// The read of an installation's epoch and numbers.
private struct StateRead: BatchedRead {
    typealias Finding = NotificationState?

    let key: InstallationKey
    let directoryVersion: Int64?

    var app: AppNumber { key.app }

    static func statement(for reads: [Self], of app: AppNumber) -> PostgresStatement {
        NotificationStatements.states(app.rawValue, reads.map(\.key.installID.rawValue))
    }

    static func findings(of reads: [Self], in rows: PostgresResult, at now: Timestamp) throws -> Results {
        try rows.map { row in .success(row.isNull(0) ? nil : try NotificationState(row, at: now)) }
    }
}

extension NotificationState {
    /// - Parameter row: of `NotificationStatements.states`; the installation exists.
    fileprivate init(_ row: PostgresRow, at now: Timestamp) throws {
        var reader = ColumnReader(row)
        self.init(
            epoch: try reader.next(), owner: try reader.nextOwner(),
            numbers: row.isNull(4) ? .none : try NotificationNumbers(row, from: 4), readAt: now)
    }
}

extension NotificationNumbers {
    fileprivate init(_ row: PostgresRow, from first: Int) throws {
        let lowest = try row.decode(first + 3, as: Int64?.self)
        let highest = try row.decode(first + 4, as: Int64?.self)
        let waiting: ClosedRange<Int64>? = if let lowest, let highest { lowest...highest } else { nil }
        self.init(
            last: try row.decode(first), acknowledged: try row.decode(first + 1), dropped: try row.decode(first + 2),
            waiting: waiting)
    }
}

extension NotificationPage {
    /// - Parameter rows: of `NotificationStatements.page`; at least one.
    fileprivate init(_ rows: PostgresResult, limit: Int) throws {
        let notifications = try rows.filter { !$0.isNull(5) }.map { row in
            WaitingNotification(
                number: try row.decode(5), payload: try row.decode(6), postedAt: try row.decode(7),
                expiresAt: try row.decode(8), collapseID: try row.decode(9))
        }
        let page = Array(notifications.prefix(limit))
        self.init(
            numbers: try NotificationNumbers(rows[0], from: 0), notifications: page,
            next: notifications.count > limit ? page.last?.number : nil)
    }
}

/// The metrics of numbered notifications on one loop.
struct NotificationMeters: Sendable {
    private let stored = Counter(label: "notifications_total", dimensions: [("result", "stored")])
    private let repeated = Counter(label: "notifications_total", dimensions: [("result", "repeated")])
    private let dropped = Counter(label: "notifications_total", dimensions: [("result", "dropped")])

    /// Counts posts; call it after their commit.
    func posted(_ boxes: LockedBoxes) {
        stored.increment(by: boxes.stored)
        repeated.increment(by: boxes.repeated)
        dropped.increment(by: boxes.dropped)
    }
}
