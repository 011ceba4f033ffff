import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A reader of the change feed gets every event once (fine print 27)")
    struct ChangesTests {
        @Test func feed_isOldestFirst_andContinuesAtACursor() async throws {
            let app = try await RegistryApp.make()
            for name in ["a", "b", "c"] { _ = try await app.put(name) }
            let first = try await app.changes("?limit=2") { $0.count == 2 }
            #expect(first.map { $0["installId"] } == ["a", "b"])
            let cursor = try #require(first.last?["cursor"].string)
            let second = try await app.changes("?after=\(cursor)") { !$0.isEmpty }
            #expect(second.map { $0["installId"] } == ["c"])
            let last = try #require(second.last?["cursor"].string)
            let nothing = try await app.send("GET", "/changes?after=\(last)", by: .role(.sender))
            #expect(nothing.status == 200 && nothing.body.isEmpty && nothing["Content-Type"] == "application/x-ndjson")
        }

        @Test func newReader_beginsAtTheEnd_withAfterLatest() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("old")
            _ = try await app.changes { $0.count == 1 }
            let latest = try await app.send("GET", "/changes?after=latest", by: .role(.sender))
            let cursor = try #require(latest.json["cursor"].string)
            #expect(latest.status == 200 && latest["X-Cursor"] == cursor && latest.json.object.count == 1)
            #expect(try await app.changes("?after=\(cursor)") == [])
            for name in ["new", "newer"] { _ = try await app.put(name) }
            let seen = try await app.changes("?after=\(cursor)") { $0.count >= 2 }
            #expect(seen.map { $0["installId"] } == ["new", "newer"])
        }

        @Test func cursor_isRefused_whenItIsInvalidOrExpired() async throws {
            let app = try await RegistryApp.make()
            let other = try await RegistryApp.make()
            _ = try await app.put("phone")
            let seen = try await app.changes { !$0.isEmpty }
            let cursor = try #require(seen.last?["cursor"].string)
            #expect(try await app.send("GET", "/changes?after=nonsense").faults == ["after invalid-cursor"])
            #expect(try await other.send("GET", "/changes?after=\(cursor)").faults == ["after invalid-cursor"])
            #expect(try await app.send("GET", "/changes?limit=1001").faults == ["limit out-of-range"])
            let restored = "0123456789abcdef" + cursor.dropFirst(16)
            let gone = try await app.send("GET", "/changes?after=\(restored)")
            #expect(gone.status == 410 && gone.code == "cursor-expired")
        }
    }
}

extension RegistryApp {
    /// The events of the feed, once they are enough: an event waits for older transactions, also those of other tests.
    func changes(_ query: String = "", until areEnough: ([JSON]) -> Bool) async throws -> [JSON] {
        var events: [JSON] = []
        try await eventually("the feed shows the events") {
            events = try await changes(query)
            return areEnough(events)
        }
        return events
    }

    func changes(_ query: String = "") async throws -> [JSON] {
        let response = try await send("GET", "/changes" + query, by: .role(.sender))
        #expect(response.status == 200)
        return try response.body.split(separator: UInt8(ascii: "\n")).map { try JSON(parsing: $0) }
    }
}
