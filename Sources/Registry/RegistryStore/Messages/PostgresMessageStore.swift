import EventLoop
import PostgresClient
public import PushRegistry

/// Messages in PostgreSQL. Each event loop has one store. Counts of all connections that arrive during a transaction
/// share the next one.
public struct PostgresMessageStore: MessageStore {
    /// How often a creation is tried if another message takes its number first.
    private static let attemptsMax = 50
    private static let targetAttemptsMax = 10

    private let resources: LoopResources
    private let receipts: WriteCoalescer<ReceiptWrite>

    public init(_ resources: LoopResources) {
        self.resources = resources
        receipts = WriteCoalescer(
            resources, meters: WriteMeters("receipt"), attemptsMax: 10, transaction: ReceiptWrite.write)
    }

    private var postgres: PostgresClient { resources.postgres }

    /// Writes queued counts until it is cancelled.
    public func run() async {
        await receipts.run()
    }

    public func put(
        _ name: MessageName, _ content: MessageContent, in app: AppNumber, at now: Timestamp
    ) async throws -> (message: Message, isNew: Bool) {
        try await resources.storing(app) {
            try await postgres.withTransaction(attemptsMax: Self.attemptsMax) { transaction in
                let found = try await transaction.execute(
                    [MessageStatements.read(app.rawValue, name.rawValue), MessageStatements.newest(app.rawValue)],
                    .alone)
                if let known = try found[0].first.map(Message.init) {
                    let message = Message(
                        number: known.number, name: name, content: content, createdAt: known.createdAt,
                        segments: known.segments)
                    try await transaction.commit(after: [MessageStatements.replace(message, of: app)])
                    return (message, false)
                }
                let newest = MessageNumber(try found[1][0].decode(0))
                let number = max(MessageNumber(createdAt: now), MessageNumber(newest.rawValue + 1))
                let message = Message(number: number, name: name, content: content, createdAt: now)
                try await transaction.commit(after: [MessageStatements.add(message, to: app)])
                return (message, true)
            }
        }
    }

    public func message(_ name: MessageName, of app: AppNumber) async throws -> Message? {
        try await resources.storing(app) {
            try await postgres.read(MessageStatements.read(app.rawValue, name.rawValue))
                .first.map(Message.init)
        }
    }

    public func messages(named names: [MessageName], of app: AppNumber) async throws -> [MessageName: Message] {
        try await resources.storing(app) {
            try await postgres.read(
                MessageStatements.readAll(app.rawValue, names.map(\.rawValue))
            ).reduce(into: [:]) { messages, row in
                let message = try Message(row)
                messages[message.name] = message
            }
        }
    }

    public func messages(of app: AppNumber, before: MessageNumber?, limit: Int) async throws -> [Message] {
        try await resources.storing(app) {
            try await postgres.read(
                MessageStatements.list(app.rawValue, before?.rawValue ?? Int64.max, Int64(limit))
            ).map(Message.init)
        }
    }

    public func record(
        _ segments: [SegmentName], for message: MessageNumber, of app: AppNumber
    ) async throws {
        try await resources.storing(app) {
            let record = MessageStatements.record(
                app.rawValue, message.rawValue, segments.map(\.rawValue), Int64(Message.segmentsMax))
            _ = try await postgres.execute([record], .alone)
        }
    }
}

// MARK: - Counting

extension PostgresMessageStore {
    public func count(_ reports: [ReceiptReport], of app: AppNumber) async throws -> [Bool] {
        guard !reports.isEmpty else { return [] }
        return try await receipts.write(ReceiptWrite(app: app, content: .reports(reports)))
    }

    public func count(_ handedOut: [Int64: Int], for message: MessageNumber, of app: AppNumber) async throws {
        guard !handedOut.isEmpty else { return }
        _ = try await receipts.write(ReceiptWrite(app: app, content: .handedOut(handedOut, message)))
    }

    public func target(
        _ targets: [MessageTarget], for message: Message, of app: AppNumber, at now: Timestamp
    ) async throws {
        let write = TargetWrite(targets, for: message, of: app, at: now)
        try await resources.storing(app) {
            try await postgres.withTransaction(attemptsMax: Self.targetAttemptsMax) { transaction in
                _ = try await transaction.execute([], .alone)
                let last = try await write.run(transaction)
                try await transaction.commit(after: last.map { [$0] } ?? [])
            }
        }
    }

    public func count(
        _ event: MessageEvents, at remembered: [InstallationHash], for message: MessageNumber, of app: AppNumber
    ) async throws -> [RememberedOutcome] {
        let distinct = Set(remembered).sorted { $0.rawValue < $1.rawValue }
        guard !distinct.isEmpty else { return [] }
        let isCounted = try await resources.storing(app) {
            try await postgres.withTransaction(attemptsMax: Self.targetAttemptsMax) { transaction in
                let count = ReceiptStatements.countRemembered(
                    app.rawValue, message.rawValue, distinct.map(\.rawValue), event.rawValue)
                let rows = try await transaction.execute([count], .alone)[0]
                var (isCounted, delta) = ([InstallationHash: Bool](), MessageDelta())
                for row in rows {
                    let installation = InstallationHash(try row.decode(0))
                    let isNew = try MessageEvents(rawValue: row.decode(1)).contains(event)
                    isCounted[installation] = isNew
                    if isNew { delta.count(event, of: message, in: try row.decode(2), at: nil) }
                }
                try await transaction.commit(after: delta.statement(in: app).map { [$0] } ?? [])
                return isCounted
            }
        }
        var repeated: Set<InstallationHash> = []
        return remembered.map { installation in
            guard let isNew = isCounted[installation] else { return .unknown }
            return isNew && repeated.insert(installation).inserted ? .counted : .duplicate
        }
    }

    public func cells(
        ofHolders addresses: [TokenAddress], and ids: [InstallID], in app: AppNumber
    ) async throws -> InstallationCells {
        try await resources.storing(app) {
            let results = try await postgres.execute([
                ReceiptStatements.holders(app.rawValue, addresses.map(\.provider.rawValue), addresses.map(\.sha256)),
                ReceiptStatements.installations(app.rawValue, ids.map(\.rawValue)),
            ])
            var holders: [TokenAddress: InstallationCells.Entry] = [:]
            for row in results[0] {
                guard let entry = try InstallationCells.Entry(row) else { continue }
                holders[TokenAddress(app: app, provider: entry.provider, sha256: try row.decode(3))] = entry
            }
            var named: [InstallID: InstallationCells.Entry] = [:]
            for row in results[1] {
                guard let entry = try InstallationCells.Entry(row) else { continue }
                named[entry.installID] = entry
            }
            return InstallationCells(holders: holders, named: named)
        }
    }

    public func cells(
        ofTyped addresses: [TypedTokenAddress], in app: AppNumber
    ) async throws -> [TypedTokenAddress: InstallationCells.Entry] {
        guard !addresses.isEmpty else { return [:] }
        return try await resources.storing(app) {
            let find = ReceiptStatements.typedHolders(
                app.rawValue, addresses.map(\.kind.rawValue), addresses.map(\.sha256))
            return try await postgres.execute(find).reduce(into: [:]) { entries, row in
                guard let kind = TokenKind(rawValue: try row.decode(3)) else { return }
                let address = TypedTokenAddress(kind: kind, sha256: try row.decode(4))
                entries[address] = try InstallationCells.Entry(row)
            }
        }
    }
}

// MARK: - Reading

extension PostgresMessageStore {
    public func counts(
        of message: MessageNumber, in app: AppNumber
    ) async throws -> (asOf: Timestamp, counts: MessageCounts) {
        try await resources.storing(app) {
            let row = try await postgres.read(MessageSumStatements.counts(app.rawValue, message.rawValue))[0]
            return (try row.decode(6), try MessageCounts(row, from: 0))
        }
    }

    public func groups(
        of message: MessageNumber, by fields: [AudienceField], in app: AppNumber
    ) async throws -> (asOf: Timestamp, groups: [MessageBreakdown.Group]) {
        try await resources.storing(app) {
            let rows = try await postgres.read(
                MessageSumStatements.groups(of: message, by: fields, in: app).unprepared())
            let groups = try rows.map { row in
                MessageBreakdown.Group(
                    values: try fields.indices.map { try row.decode($0) },
                    counts: try MessageCounts(row, from: fields.count))
            }
            let asOf = try rows.first?.decode(fields.count + 6, as: Timestamp.self)
            return (asOf ?? .now(), groups)
        }
    }

    public func timeline(
        of message: MessageNumber, in buckets: TimelineBuckets, in app: AppNumber
    ) async throws -> (asOf: Timestamp, counts: [MessageCounts]) {
        try await resources.storing(app) {
            let asOf = Timestamp.now()
            var counts = [MessageCounts](repeating: MessageCounts(), count: buckets.count)
            for row in try await postgres.execute(
                MessageSumStatements.timeline(app.rawValue, message.rawValue, buckets.interval.seconds))
            {
                let seconds = try row.decode(0, as: Int64.self) * buckets.interval.seconds
                let bucket = buckets.bucket(of: Timestamp(microseconds: seconds * 1_000_000))
                counts[bucket].delivered += try row.decode(1, as: Int64.self)
                counts[bucket].opened += try row.decode(2, as: Int64.self)
                counts[bucket].dismissed += try row.decode(3, as: Int64.self)
            }
            return (asOf, counts)
        }
    }

    public func undelivered(
        _ message: MessageNumber, of app: AppNumber, handedOutUntil time: Timestamp, after: InstallationHash?,
        limit: Int
    ) async throws -> [UndeliveredTarget] {
        try await resources.storing(app) {
            try await postgres.read(
                ReceiptStatements.undelivered(
                    app.rawValue, message.rawValue, time.postgres, after?.rawValue ?? Int64.min, Int64(limit))
            ).map { row in
                UndeliveredTarget(
                    installation: InstallationHash(try row.decode(0)), installID: try row.decode(1),
                    userID: try row.decode(2), state: try row.decode(3))
            }
        }
    }
}

extension InstallationCells.Entry {
    /// Nil for a provider that this version does not know.
    fileprivate init?(_ row: PostgresRow) throws {
        guard let provider = Provider(rawValue: try row.decode(0)) else { return nil }
        self.init(installID: try InstallID(row.decode(1)), provider: provider, cell: try row.decode(2))
    }
}

extension MessageCounts {
    fileprivate init(_ row: PostgresRow, from column: Int) throws {
        self.init()
        targeted = try row.decode(column)
        accepted = try row.decode(column + 1)
        failed = try row.decode(column + 2)
        delivered = try row.decode(column + 3)
        opened = try row.decode(column + 4)
        dismissed = try row.decode(column + 5)
    }
}
