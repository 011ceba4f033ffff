import Testing

@testable import PostgresClient

@Suite("Values are bound, never inserted into the text")
struct StatementTests {
    @Test func value_becomesAPlaceholder_whenItIsInterpolated() {
        let name = "'; DROP TABLE app; --"
        let statement: PostgresStatement = "SELECT * FROM app WHERE name = \(name) AND id = \(7) OR id = \(Int?.none)"
        #expect(statement.text == "SELECT * FROM app WHERE name = $1 AND id = $2 OR id = $3")
        #expect(statement.binds.parameters.map(\.type) == [.text, .int8, .int8])
    }

    @Test func placeholders_areNumberedThrough_whenPiecesAreComposed() {
        let conditions: [PostgresSQL] = ["a = \(1)", "b = ANY(\([2, 3]))", "c IS NULL"]
        let any = conditions.joined(separator: " OR ")
        let statement: PostgresStatement =
            "SELECT \(identifier: "odd\"name") FROM t WHERE x = \("x") AND (\(sql: any)) LIMIT \(9)"
        #expect(
            statement.text
                == "SELECT \"odd\"\"name\" FROM t WHERE x = $1 AND (a = $2 OR b = ANY($3) OR c IS NULL) LIMIT $4")
        #expect(statement.binds.parameters.map(\.type) == [.text, .int8, .int8Array, .int8])
    }

    @Test func literal_isQuoted_whenItIsPartOfTheText() {
        let statement: PostgresStatement = "CREATE TABLE p PARTITION OF t FOR VALUES IN (\(literal: "it's \\ 🎈"))"
        #expect(statement.text == "CREATE TABLE p PARTITION OF t FOR VALUES IN ('it''s \\ 🎈')")
    }

    @Test func preparedSQL_hasOneNumber_whereverItIsUsed() {
        let sql = PreparedSQL("SELECT $1")
        #expect(PostgresStatement(sql, 1).preparation == PostgresStatement(sql, 2).preparation)
        #expect(PostgresStatement(sql, 1).preparation != PostgresStatement(PreparedSQL("SELECT $1"), 1).preparation)
    }
}

@Suite("INSERT from arrays on a distributed engine")
struct InsertedValuesTests {
    private static let insert = PreparedSQL(
        "INSERT INTO gadget (app, name, size) SELECT $1, k.name, k.size FROM unnest($2::text[], $3::bigint[]) AS k",
        distributed: "INSERT INTO gadget (app, name, size) SELECT a.app, k.name, k.size FROM app a",
        values: InsertedValues(
            "INSERT INTO gadget (app, name, size)", row: "$1, coalesce($2, 'none'), $3::text::bigint",
            then: "ON CONFLICT DO NOTHING", scalars: 1, arrays: 2))

    private func statement(_ names: [String?], _ sizes: [String]) -> PostgresStatement {
        PostgresStatement(Self.insert, Int32(7), names, sizes).distributed
    }

    @Test func fewRows_areValues_withAParameterForEach() {
        let statement = statement(["a", nil], ["1", "2"])
        #expect(
            statement.text == """
                INSERT INTO gadget (app, name, size) VALUES ($1, coalesce($2, 'none'), $3::text::bigint), \
                ($1, coalesce($4, 'none'), $5::text::bigint) ON CONFLICT DO NOTHING
                """)
        #expect(statement.parameterTypes == [.int4, .text, .text, .text, .text])
    }

    @Test func eachNumberOfRows_isPreparedForItself_upToALimit() {
        let preparations = (1...InsertedValues.rowsMax).map { count in
            statement(Array(repeating: "a", count: count), Array(repeating: "1", count: count)).preparation
        }
        #expect(Set(preparations.prefix(InsertedValues.preparedRowsMax)).count == InsertedValues.preparedRowsMax)
        #expect(!preparations.prefix(InsertedValues.preparedRowsMax).contains(.none))
        #expect(preparations.dropFirst(InsertedValues.preparedRowsMax).allSatisfy { $0 == .none })
    }

    @Test(arguments: [0, InsertedValues.rowsMax + 1])
    func otherRows_areArrays(count: Int) {
        let statement = statement(Array(repeating: "a", count: count), Array(repeating: "1", count: count))
        #expect(statement.text == Self.insert.distributedText)
        #expect(statement.parameterTypes == [.int4, .textArray, .textArray])
    }

    @Test func arraysOfSeveralLengths_areArrays() {
        #expect(statement(["a"], ["1", "2"]).text == Self.insert.distributedText)
    }

    @Test func values_areThoseOfTheArrays_inPostgreSQL() async throws {
        try await withConnection { connection in
            let insert = PreparedSQL(
                "SELECT",
                values: InsertedValues("INSERT INTO gadget", row: "$1, $2, $3, $4, $5::text[]", scalars: 1, arrays: 4))
            let time = PostgresTimestamp(microsecondsSince1970: 1_700_000_000_123_456)
            let bytes: [[UInt8]?] = [[0, 255], nil, []]
            let statement = PostgresStatement(
                insert, Int32(7), ["a", "", "ü\"{}"], bytes, [time, time, time], [nil, "{}", #"{"x,y"}"#] as [String?])
            let results = try await connection.execute([
                "CREATE TEMPORARY TABLE gadget (a int, b text, c bytea, d timestamptz, e text[])",
                statement.distributed, "SELECT a, b, c, d, e FROM gadget",
            ])
            let rows = results[2]
            #expect(try rows.map { try $0.decode(0, as: Int32.self) } == [7, 7, 7])
            #expect(try rows.map { try $0.decode(1, as: String.self) } == ["a", "", "ü\"{}"])
            #expect(try rows.map { try $0.decode(2, as: [UInt8]?.self) } == bytes)
            #expect(try rows.map { try $0.decode(3, as: PostgresTimestamp.self) } == [time, time, time])
            #expect(try rows.map { try $0.decode(4, as: [String]?.self) } == [nil, [], ["x,y"]])
        }
    }
}

@Suite("A connection's prepared statements")
struct StatementCacheTests {
    private let first: PostgresStatement = "SELECT 1"
    private let second: PostgresStatement = "SELECT 2"
    private let third: PostgresStatement = "SELECT 3"

    @Test func name_isUsed_whenItsPreparationIsConfirmed() {
        var cache = StatementCache()
        #expect(cache.decide(first) == .prepare(name: name(1, first), evicted: nil))
        #expect(cache.decide(first) == .unprepared)
        cache.confirm(first.preparation)
        #expect(cache.decide(first) == .execute(name: name(1, first)))
    }

    @Test func statement_isPreparedAgain_whenItsPreparationFailed() {
        var cache = StatementCache()
        _ = cache.decide(first)
        cache.remove(first.preparation)
        #expect(cache.decide(first) == .prepare(name: name(2, first), evicted: nil))
    }

    @Test func leastRecentlyUsed_isEvicted_whenTheCacheIsFull() {
        var cache = StatementCache(statementsMax: 2)
        for statement in [first, second] {
            _ = cache.decide(statement)
            cache.confirm(statement.preparation)
        }
        _ = cache.decide(first)
        #expect(cache.decide(third) == .prepare(name: name(3, third), evicted: name(2, second)))
        #expect(cache.decide(first) == .execute(name: name(1, first)))
    }

    @Test func statement_isPreparedAgain_whenItsTypesChange() {
        var cache = StatementCache()
        let sql = PreparedSQL("SELECT $1")
        _ = cache.decide(PostgresStatement(sql, 1))
        let (number, text) = (PostgresStatement(sql, 1), PostgresStatement(sql, "one"))
        cache.confirm(number.preparation)
        #expect(cache.decide(text) == .prepare(name: name(2, text), evicted: name(1, number)))
    }

    @Test func names_differ_whenTheSQLOrItsTypesDo() {
        let sql = PreparedSQL("SELECT $1")
        let statements = [first, second, PostgresStatement(sql, 1), PostgresStatement(sql, "one")]
        #expect(Set(statements.map { name(1, $0) }).count == statements.count)
        #expect(name(1, first) == name(1, "SELECT 1"))
    }

    private func name(_ number: UInt64, _ statement: PostgresStatement) -> String {
        StatementCache.name(number, of: statement)
    }
}
