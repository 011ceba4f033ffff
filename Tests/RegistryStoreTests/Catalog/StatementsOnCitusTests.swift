import PostgresClient
import Testing

@testable import RegistryStore

@Suite("A statement with another text for Citus means the same there")
struct StatementsOnCitusTests {
    /// Positions of an installation's events.
    typealias Events = [Int64]

    private static let ascending: [Events] = [
        [5], [5, 6], [5, 5], [9, 5, 6],
    ]
    private static let falling: [Events] = [[6, 5], [5, 6, 4]]

    @Test(arguments: ascending) func order_isRight(events: Events) async throws {
        try await expectOrder(of: events, isLost: false)
    }

    @Test(arguments: falling) func lastEvent_isBelowTheOneBefore(events: Events) async throws {
        try await expectOrder(of: events, isLost: true)
    }

    private func expectOrder(of events: Events, isLost: Bool) async throws {
        try await TestStores.with { stores in
            for position in events {
                try await add(position, of: "phone", in: stores)
                try await add(7, of: "other", in: stores)
            }
            for text in try texts(of: RegistrationStatements.checkOrder) {
                #expect(try await rows(of: text, "1, '{other,phone}', now()", in: stores) == (isLost ? nil : []))
            }
        }
    }

    private func add(_ position: Int64, of phone: String, in stores: TestStores) async throws {
        _ = try await stores.sql(
            """
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, state,
                generation_before, generation_after)
            VALUES (\(position), now(), 1, \(phone), 'registered', 'firstRegistration', 'test', 'apns', 'active', 0, 1)
            """)
    }

    @Test func logouts_areThoseOfTheBindings() async throws {
        try await TestStores.with { stores in
            _ = try await stores.sql(
                """
                INSERT INTO installation_logout (app_id, install_id, user_sha256, session_id, logged_out_at)
                SELECT app, install, sha256(name::bytea), session, '2026-01-01'
                FROM unnest('{1,2}'::integer[]) AS app, unnest('{a,b,c,d}'::text[]) AS install,
                    unnest('{alice,bob}'::text[]) AS name, unnest('{"",s1,s2}'::text[]) AS session
                WHERE install <> 'd'
                """)
            let values = """
                1, '{b,d,c}', ARRAY[sha256('bob'), sha256('bob'), sha256('alice')], '{s2,s2,NULL}'
                """
            for text in try texts(of: GuardStatements.installationLogouts) {
                #expect(try await rows(of: text, values, in: stores) == ["1 false", "1 true", "3 false"])
            }
        }
    }

    private func texts(of statement: PreparedSQL) throws -> [String] {
        [statement.text, try #require(statement.distributedText)]
    }

    /// The first two columns of the rows, sorted, if there are two; nil if the statement divides by zero.
    private func rows(of text: String, _ values: String, in stores: TestStores) async throws -> [String]? {
        try await PostgresSession.withSession(stores.configuration) { session in
            try session.run(script: "PREPARE other AS \(text)")
            do {
                let rows = try session.execute(
                    PostgresStatement(PostgresSQL(trusted: "EXECUTE other (\(values))")).unprepared())
                guard rows.columnNames.count > 1 else { return [] }
                return try rows.map { "\(try $0.decode(0, as: Int64.self)) \(try $0.decode(1, as: Bool.self))" }
                    .sorted()
            } catch let error as PostgresError where error.isLostRace {
                return nil
            }
        }
    }
}
