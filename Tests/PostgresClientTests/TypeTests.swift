import Testing

@testable import PostgresClient

@Suite("Values make a round trip unchanged")
struct TypeTests {
    @Test func value_isUnchanged_afterARoundTrip() async throws {
        try await withConnection { connection in
            try await expectRoundTrips([true, false], on: connection)
            try await expectRoundTrips([Int16.min, 0, Int16.max], on: connection)
            try await expectRoundTrips([Int32.min, -1, Int32.max], on: connection)
            try await expectRoundTrips([Int64.min, 1, Int64.max], on: connection)
            try await expectRoundTrips([Int.min, 1, Int.max], on: connection)
            try await expectRoundTrips([-0.5, .infinity, .leastNonzeroMagnitude, 52.52], on: connection)
            try await expectRoundTrips(["", "a", "ünïcödé 🎈", "NULL", "{\"'\\}", "line\nline"], on: connection)
            try await expectRoundTrips([[], [0], Array(0...255)] as [[UInt8]], on: connection)
            try await expectRoundTrips(PostgresTimestamp.examples, on: connection)
        }
    }

    /// Alone, in an array, among NULLs, and as NULL.
    private func expectRoundTrips<Value>(_ values: [Value], on connection: PostgresConnection) async throws
    where Value: PostgresArrayElement & PostgresDecodableElement & Equatable {
        for value in values {
            let row = try await connection.execute("SELECT \(value), \(Value?.none), \(Value?.some(value))")[0]
            #expect(try row.decode(0, as: Value.self) == value)
            #expect(try row.decode(1, as: Value?.self) == nil)
            #expect(try row.decode(2, as: Value?.self) == value)
        }
        let optional: [Value?] = [nil] + values.map(Optional.some) + [nil]
        let row = try await connection.execute("SELECT \(values), \([Value]()), \(optional), \([Value]?.none)")[0]
        #expect(try row.decode(0, as: [Value].self) == values)
        #expect(try row.decode(1, as: [Value].self) == [])
        #expect(try row.decode(2, as: [Value?].self) == optional)
        #expect(try row.decode(3, as: [Value]?.self) == nil)
    }

    @Test func timestamp_isTheServersInstant() async throws {
        try await withConnection { connection in
            let row = try await connection.execute(
                "SELECT '2024-02-29T12:34:56.789012Z'::timestamptz, '1969-12-31T23:59:59Z'::timestamptz")[0]
            #expect(try row.decode(0) == PostgresTimestamp(microsecondsSince1970: 1_709_210_096_789_012))
            #expect(try row.decode(1) == PostgresTimestamp(microsecondsSince1970: -1_000_000))
        }
    }

    @Test func text_isDecoded_whenItIsJSONOrAnEnum() async throws {
        try await withConnection { connection in
            _ = try await connection.execute("CREATE TYPE mood AS ENUM ('glad', 'sad')")
            let row = try await connection.execute(
                "SELECT '{\"a\": 1}'::jsonb, '[1]'::json, \("sad")::mood, 'x'::varchar, \(["glad"])::mood[]")[0]
            #expect(try row.decode(0) == "{\"a\": 1}")
            #expect(try row.decode(1) == "[1]")
            #expect(try row.decode(2) == "sad")
            #expect(try row.decode(3) == "x")
            #expect(try row.decode(4) == ["glad"])
        }
    }

    @Test func row_isAnError_whenTheResultHasFewer() async throws {
        try await withConnection { connection in
            let result = try await connection.execute("SELECT generate_series(1, 3)")
            #expect(try result.map { try $0.decode(0, as: Int.self) } == [1, 2, 3])
            #expect(try result[2].decode(0, as: Int.self) == 3)
            for index in [-1, 3] {
                let error = #expect(throws: PostgresError.self) { _ = try result[index] }
                #expect(error?.kind == .unexpectedResult && error?.retry == .no)
            }
            let empty = try await connection.execute("SELECT 1 WHERE false")
            #expect(empty.isEmpty && empty.first == nil && empty.last == nil)
        }
    }

    @Test func decodingError_namesTheColumn_whenTheTypeDiffers() async throws {
        try await withConnection { connection in
            let result = try await connection.execute(
                "SELECT 1::int4 AS number, NULL::text AS nothing, '{{1},{2}}'::int[] AS square")
            let row = try result[0]
            let wrong = #expect(throws: PostgresDecodeError.self) { try row.decode(0, as: String.self) }
            #expect(wrong?.reason == .mismatch && wrong?.column == "number")
            let null = #expect(throws: PostgresDecodeError.self) { try row.decode("nothing", as: String.self) }
            #expect(null?.reason == .null && null?.column == "nothing")
            let square = #expect(throws: PostgresDecodeError.self) { try row.decode(2, as: [Int32].self) }
            #expect(square?.reason == .mismatch)
            #expect(throws: PostgresDecodeError.self) { try result.column("nowhere") }
            let missing = #expect(throws: PostgresDecodeError.self) { try row.decode(3, as: String?.self) }
            #expect(missing?.reason == .noSuchColumn && missing?.column == "3")
            #expect(row.isNull(3) && row.withBytes(-1) { $0.byteCount } == nil)
            #expect(try row.decode(result.column("number"), as: Int.self) == 1)
        }
    }
}

extension PostgresTimestamp {
    static let examples: [PostgresTimestamp] = [0, 1, -1, 946_684_800_000_000, .max, .min]
        .map(PostgresTimestamp.init(microsecondsSince1970:))
}

@Suite("Errors of the server are told apart in every language")
struct ErrorKindTests {
    @Test func changedResultType_isAStalePlan_whateverTheMessage() {
        var fields = PostgresError.ServerFields()
        fields.sqlState = "0A000"
        fields.message = "gecachter Plan darf den Ergebnistyp nicht ändern"
        #expect(PostgresError(fields).kind == .other)
        fields.function = "RevalidateCachedQuery"
        #expect(PostgresError(fields).kind == .stalePlan)
    }
}
