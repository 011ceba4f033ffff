import Basics
import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Sessions of the console are kept while they last, and no longer", .stores)
struct ConsoleSessionStoreTests {
    private let stores = TestStores.lent!

    private let start = Timestamp(microseconds: 1_795_262_400_000_000)

    private func after(_ minutes: Int64) -> Timestamp {
        Timestamp(microseconds: start.microseconds + minutes * 60_000_000)
    }

    private func sha256(_ byte: UInt8) -> [UInt8] { Array(repeating: byte, count: 32) }

    /// A store, beside the keys `a` and `b`.
    private func makeStore() async throws -> PostgresConsoleSessionStore {
        for id in ["a", "b"] {
            _ = try await stores.sql(
                """
                INSERT INTO api_key (id, app_id, name, roles, secret_sha256)
                VALUES (\(id), \(stores.app.number.rawValue), 'k', '{marketing}', '\\x00')
                """)
        }
        return PostgresConsoleSessionStore(postgres: stores.postgres)
    }

    @Test func session_isReadAsItWasAdded_andItsUseMovesForwardOnly() async throws {
        let store = try await makeStore()
        let (key, admin) = (
            ConsoleSession(.key("a"), at: start), ConsoleSession(.adminKey(proof: [1, 2]), at: after(1))
        )
        try await store.add(key, sha256: sha256(1))
        try await store.add(admin, sha256: sha256(2))
        #expect(try await store.session(sha256(1)) == key)
        #expect(try await store.session(sha256(2)) == admin)
        #expect(try await store.session(sha256(3)) == nil)
        for minutes: Int64 in [5, 3] { try await store.recordUse(of: sha256(1), at: after(minutes)) }
        #expect(try await store.session(sha256(1))?.lastUsedAt == after(5))
        for _ in 1...2 { try await store.remove(sha256(1)) }
        #expect(try await store.session(sha256(1)) == nil)
        #expect(try await store.session(sha256(2)) == admin)
    }

    private func person(_ subject: String, signIn: UInt8) -> ConsoleSession.Credential {
        .person(
            ConsolePerson(issuer: "https://login.example.com", subject: subject, name: "Ada", groups: ["a", "b,\"c"]),
            signIn: sha256(signIn))
    }

    @Test func sessionOfAPerson_isReadAsItWasAdded_andASignInAddsOne() async throws {
        let store = try await makeStore()
        let session = ConsoleSession(person("ada", signIn: 9), at: start)
        let added = (
            try await store.add(session, sha256: sha256(1)), try await store.add(session, sha256: sha256(2))
        )
        #expect(added == (true, false))
        #expect(try await store.session(sha256(1)) == session)
        #expect(try await store.session(sha256(2)) == nil)
    }

    @Test func sessionsOfAPerson_areBounded_apartFromThoseOfOthers() async throws {
        let store = try await makeStore()
        try await store.add(ConsoleSession(.adminKey(proof: [1]), at: start), sha256: sha256(0))
        try await store.add(ConsoleSession(person("bob", signIn: 0), at: start), sha256: sha256(255))
        for number in 1...UInt8(PostgresConsoleSessionStore.sessionsMax + 10) {
            let session = ConsoleSession(person("ada", signIn: number), at: after(Int64(number)))
            try await store.add(session, sha256: sha256(number))
        }
        let count = try await stores.count("SELECT count(*) FROM console_session WHERE subject = 'ada'")
        #expect(count == PostgresConsoleSessionStore.sessionsMax)
        for byte: UInt8 in [0, 255] { #expect(try await store.session(sha256(byte)) != nil, "\(byte)") }
    }

    @Test func sessionsOfAKey_areBounded_byThoseUsedLast() async throws {
        let store = try await makeStore()
        try await store.add(ConsoleSession(.key("b"), at: start), sha256: sha256(0))
        try await store.add(ConsoleSession(.adminKey(proof: [1]), at: start), sha256: sha256(255))
        let count = Int64(PostgresConsoleSessionStore.sessionsMax)
        for number in 1...(count + 10) {
            try await store.add(ConsoleSession(.key("a"), at: after(number)), sha256: sha256(UInt8(number)))
        }
        #expect(try await stores.count("SELECT count(*) FROM console_session WHERE key_id = 'a'") == count)
        #expect(try await store.session(sha256(10)) == nil)
        for byte: UInt8 in [0, 11, 255] { #expect(try await store.session(sha256(byte)) != nil, "\(byte)") }
    }

    /// Until then the cookie of a session that has ended is known for what it is.
    @Test func sweep_removesWhatEndedDaysAgo() async throws {
        let store = try await makeStore()
        let now = after(0).advanced(by: ConsoleSession.keptFor)
        let sessions = [
            ConsoleSession(.key("a"), createdAt: after(-60), lastUsedAt: after(-1)),
            ConsoleSession(.adminKey(proof: [1]), at: after(-1)),
            ConsoleSession(.key("a"), createdAt: after(-60), lastUsedAt: after(0)),
            ConsoleSession(.key("a"), at: now),
        ]
        for (index, session) in sessions.enumerated() {
            try await store.add(session, sha256: sha256(UInt8(index)))
        }
        try await ConsoleSessionSweep(postgres: stores.postgres).sweep(at: now)
        for (index, session) in sessions.enumerated() {
            let isThere = try await store.session(sha256(UInt8(index))) != nil
            #expect(isThere == (session.lastUsedAt >= after(0)), "\(index)")
        }
    }
}
