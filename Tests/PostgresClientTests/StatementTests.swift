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
