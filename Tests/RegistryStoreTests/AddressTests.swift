import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("All spellings of an address are one token, in the tables too (R1)")
struct AddressTests {
    private static let fid = "c0123456789abcdefABC-_"

    @Test func columns_agreeWithTheRules_forAllSpellings() async throws {
        let ids = ["c", "d", "e", "f", "g", "b", "C", "_", "é"].map { $0 + Self.fid.dropFirst() }
        let short = String(Self.fid.dropLast())
        let odd = ["=", ".", "~", "+", "/"].map { short + $0 }
        let starts = ids + odd + [short, Self.fid + "x", "", "c", "https://push.example/a"]
        let ends = ["", ":", "::", ":APA91b", ":a:b", "x", "~", "\\", ":'$1'"]
        let tokens = Provider.allCases.flatMap { provider in
            starts.flatMap { start in ends.compactMap { try? Token(start + $0, of: provider) } }
        }
        #expect(tokens.count > 300)
        let rows = try await TestStores.with { stores in
            try await stores.sql(
                PostgresStatement(
                    """
                    SELECT \(sql: TokenColumns.address), \(sql: TokenColumns.addressKind) FROM (
                        SELECT ordinal, provider::provider, token COLLATE "C" AS token
                        FROM unnest(\(tokens.map(\.provider.rawValue)), \(tokens.map(\.text)))
                            WITH ORDINALITY AS t (provider, token, ordinal)
                        UNION ALL SELECT 1000000, 'fcm', NULL) AS installation
                    ORDER BY ordinal
                    """)
            ).map { [try $0.decode(0, as: String?.self), try $0.decode(1, as: String?.self)] }
        }
        #expect(rows.last == [nil, nil] && rows.count == tokens.count + 1)
        for (token, row) in zip(tokens, rows) {
            #expect(row == [String(token.address), token.addressKind.rawValue], "\(token.provider) \(token.text)")
        }
        #expect(Set(rows.map { $0[1] }) == ["fid", "token", "subscription", nil])
    }

    @Test func spelling_isWrittenUnderTheInstallationsLockAlone_andIsUnchangedThen() async throws {
        try await withStore { store in
            let first = try await store.register(.make("phone", token: Self.fid, user: "alice"))
            let respelled = try Registration.make("phone", token: Self.fid + ":a", user: "alice")
            let found = try await store.find([respelled])
            guard case .holder = found[0].finding else { return #expect(Bool(false), "\(found[0].finding)") }
            let second = try await store.register(respelled)
            #expect(second.status == .updated && second.generation == first.generation + 1)
            #expect(try await store.register(respelled).status == .unchanged)
            // With another snapshot the token needs no lock at all.
            let moved = try Registration.make("phone", token: Self.fid + ":a", user: "alice", carrier: "other")
            guard case .bound = try await store.find([moved])[0].finding else { return #expect(Bool(false)) }
            #expect(try await store.holders() == ["phone \(Self.fid):a"])
            let events = try await store.strings(
                "SELECT event || ' ' || reason || ' ' || encode(token_sha256, 'hex') FROM token_event ORDER BY id")
            let digest = String(hex: TestStores.sha256(Array(Self.fid.utf8)))
            #expect(events == ["registered firstRegistration \(digest)", "rotated respelled \(digest)"])
        }
    }

    /// A reader looks all the time: at no moment two installations have one address.
    @Test func address_hasOneHolder_whateverItsSpellingsAndWhoeverRacesForIt() async throws {
        try await withStores(4) { stores in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<32 {
                    group.addTask {
                        var dice = SeededGenerator(seed: UInt64(client))
                        for _ in 0..<25 {
                            let id = dice.element(of: ["c", "d", "e"]) + Self.fid.dropFirst()
                            let token = id + dice.element(of: ["", ":a", ":b"])
                            _ = try await stores[client % 4].register(
                                .make("phone-\(dice.below(9))", token: token, user: "user-\(dice.below(3))"))
                        }
                    }
                }
                let isDone = Flag()
                async let count = looks(stores[0], until: isDone)
                try await group.waitForAll()
                isDone.set()
                #expect(try await count > 0)
            }
            try await stores[0].expectIntact()
            #expect(try await stores[0].count("SELECT count(*) FROM token_event WHERE reason = 'respelled'") > 0)
        }
    }

    /// - Returns: how often it looked.
    private func looks(_ store: StoreUnderTest, until isDone: Flag) async throws -> Int {
        for number in 1... {
            let wasDone = isDone.isSet
            let shared = try await store.strings(
                PostgresStatement(
                    """
                    SELECT \(sql: TokenColumns.address) FROM installation WHERE token IS NOT NULL
                    GROUP BY 1 HAVING count(*) > 1
                    """))
            #expect(shared.isEmpty)
            if wasDone { return number }
        }
        return 0
    }
}
