import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

/// Every event that a registry has written, also those that it has dropped since. It reads the table itself.
struct EventLog {
    struct Entry: Hashable {
        let id: Int64
        let position: Int64
        let at: Timestamp
        let installID: String?
        let kind: String
        let generationBefore: Int64?
        let generationAfter: Int64?
    }

    private(set) var entries: [Entry] = []
    /// The events of each installation, in their order.
    private(set) var lives: [String: [Entry]] = [:]

    /// Reads new events, and checks that those of an installation are a chain: each begins where the last one ended, or
    /// begins a new life above it, and none is earlier than the one before.
    mutating func read(from stores: TestStores, _ note: String) async throws {
        let rows = try await stores.sql(
            """
            SELECT id, position, at, install_id, event::text, generation_before, generation_after
            FROM token_event WHERE id > \(entries.last?.id ?? 0) ORDER BY id
            """)
        for row in rows {
            let entry = Entry(
                id: try row.decode(0), position: try row.decode(1),
                at: Timestamp(try row.decode(2, as: PostgresTimestamp.self)), installID: try row.decode(3),
                kind: try row.decode(4), generationBefore: try row.decode(5), generationAfter: try row.decode(6))
            entries.append(entry)
            guard let installID = entry.installID else { continue }
            if let last = lives[installID]?.last { expect(entry, continues: last, "\(installID), \(note)") }
            lives[installID, default: []].append(entry)
        }
    }

    private func expect(_ entry: Entry, continues last: Entry, _ note: String) {
        let (reached, before, after) = (last.generationAfter!, entry.generationBefore!, entry.generationAfter!)
        let continues = before == reached && after >= before || before == 0 && after > reached
        #expect(continues, "\(entry) comes after \(last), \(note)")
    }

    /// The events after a cursor, in the order of the feed.
    func feed(after cursor: EventCursor?) -> [Entry] {
        let after = (cursor?.position ?? 0, cursor?.id ?? 0)
        return entries.filter { ($0.position, $0.id) > after }.sorted { ($0.position, $0.id) < ($1.position, $1.id) }
    }
}

/// A reader of the change feed that comes back now and then with its last cursor.
struct FeedReader {
    /// How many steps it stays away.
    let interval: Int
    private(set) var expired = 0
    private(set) var received = 0
    private var cursor: EventCursor?

    init(interval: Int) {
        self.interval = interval
    }

    /// Reads to the end. It gets each event after its cursor once, or learns that some were dropped; then it starts
    /// over at the end, as it has to read everything anew anyway.
    ///
    /// - Parameter keptSince: no event since then may have been dropped.
    mutating func read(
        _ service: SimulatedService, _ log: EventLog, keptSince: Timestamp, _ note: String
    ) async throws {
        let (events, app) = (service.stores.events, service.stores.app.number)
        let expected = log.feed(after: cursor)
        var found: [RecordedEvent] = []
        do {
            // A transaction that still runs, such as one of the server itself, delays the events behind it.
            try await eventually {
                while true {
                    let page = try await events.changes(of: app, after: found.last?.cursor ?? cursor, limit: 50)
                    if page.isEmpty { return found.count >= expected.count || cursor == nil }
                    found += page
                }
            }
        } catch EventRefusal.cursorExpired {
            #expect(expected.contains { $0.at < keptSince }, "a cursor expired too early, \(note)")
            expired += 1
            cursor = try await events.latestChange(of: app)
            return
        }
        let ids = found.map(\.cursor.id)
        // Without a cursor, the feed begins with the oldest event that is left.
        let wanted = cursor == nil ? expected.map(\.id).suffix(ids.count) : expected.map(\.id)[...]
        #expect(ids[...] == wanted, "the reader with the interval \(interval), \(note)")
        received += ids.count
        cursor = found.last?.cursor ?? cursor
    }
}
