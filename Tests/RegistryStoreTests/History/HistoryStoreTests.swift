import PostgresClient
import PushRegistry
import RegistryStore
import Testing

@Suite("History has who held a token when, and why it moved (R12)")
struct HistoryStoreTests {
    private let token = "aaaaaaaaaaaaaaaa"

    @Test func history_isPagedNewestFirst_withoutGapOrRepetition() async throws {
        try await TestStores.with { stores in
            for user in ["a", "b", "c", "d", "e"] { try await stores.register("phone", token: token, as: user) }
            var users: [String?] = []
            var cursor: EventCursor?
            repeat {
                let page = try #require(
                    try await stores.events.events(of: stores.key("phone"), before: cursor, limit: 2))
                #expect(page.events.count <= 2)
                users += page.events.map(\.userID)
                cursor = page.next
            } while cursor != nil
            #expect(users == ["e", "d", "c", "b", "a"])
        }
    }

    @Test func installation_isUnknown_onlyIfItNeverWas() async throws {
        try await TestStores.with { stores in
            #expect(try await stores.events.events(of: stores.key("phone"), before: nil, limit: 2) == nil)
            try await stores.register("phone", token: token)
            try await stores.installations.delete(
                Deletion(key: stores.key("phone"), requester: .service, precondition: nil, actor: "service:test"))
            let page = try #require(try await stores.events.events(of: stores.key("phone"), before: nil, limit: 9))
            #expect(page.events.map(\.kind) == ["deleted", "registered"] && page.next == nil)
        }
    }

    /// A restored dump numbers on from where it was taken: a cursor of after that would lead to other events than it
    /// did.
    @Test func page_hasExpired_whenItsCursorIsOfAnotherDatabase() async throws {
        try await TestStores.with { stores in
            for user in ["a", "b", "c"] { try await stores.register("phone", token: token, as: user) }
            let (key, address) = (try stores.key("phone"), stores.address(token))
            let cursor = try #require(try await stores.events.events(of: key, before: nil, limit: 1)?.next)
            #expect(try await stores.events.events(of: key, before: cursor, limit: 1)?.events.map(\.userID) == ["b"])
            #expect(try await stores.events.events(of: address, before: cursor, limit: 1).events.map(\.userID) == ["b"])
            _ = try await stores.sql("UPDATE change_epoch SET identity = 'elsewhere'")
            for _ in 1...2 {
                await #expect(throws: EventRefusal.cursorExpired) {
                    try await stores.events.events(of: key, before: cursor, limit: 1)
                }
                await #expect(throws: EventRefusal.cursorExpired) {
                    try await stores.events.events(of: address, before: cursor, limit: 1)
                }
            }
            let page = try #require(try await stores.events.events(of: key, before: nil, limit: 1))
            let next = try #require(page.next)
            #expect(
                try await stores.events.events(of: key, before: next, limit: 9)?.events.map(\.userID) == ["b", "a"])
        }
    }

    @Test func page_isTheEnd_whenNothingOlderIsKept() async throws {
        try await TestStores.with { stores in
            for user in ["a", "b", "c"] { try await stores.register("phone", token: token, as: user) }
            let key = try stores.key("phone")
            let cursor = try #require(try await stores.events.events(of: key, before: nil, limit: 2)?.next)
            _ = try await stores.sql("DELETE FROM token_event WHERE user_id IN ('a', 'b')")
            let page = try #require(try await stores.events.events(of: key, before: cursor, limit: 2))
            #expect(page.events.isEmpty && page.next == nil)
        }
    }

    @Test func tokenHistory_namesEveryHolder() async throws {
        try await TestStores.with { stores in
            try await stores.register("a", token: token, as: "alice")
            try await stores.register("b", token: token, as: "bob")
            let page = try await stores.events.events(of: stores.address(token), before: nil, limit: 9)
            #expect(page.events.map(\.kind) == ["takenOver", "superseded", "registered"])
            #expect(page.events.map(\.installID) == ["b", "a", "a"])
            let unknown = try await stores.events.events(of: stores.address("ffffffffffffffff"), before: nil, limit: 9)
            #expect(unknown.events.isEmpty && unknown.next == nil)
        }
    }
}
