import EmbeddedPostgres
import EventLoop
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Rows by COPY")
struct CopyTests {
    /// Reads all rows of a query with one text column.
    private func texts(
        _ connection: PostgresConnection, _ query: PostgresSQL, bytesMax: Int = 1_000, timeout: Duration = .seconds(10)
    ) async throws -> [String?] {
        var texts: [String?] = []
        try await connection.beginCopy(of: query, timeout: timeout)
        while let rows = try await connection.nextCopyRows(bytesMax: bytesMax) {
            let found = rows.texts
            #expect(found.count == rows.count)
            texts += found
        }
        return texts
    }

    @Test(arguments: [0, 1, 2, 1_000])
    func rows_arriveInOrderAndComplete(count: Int) async throws {
        try await withConnection { connection in
            let found = try await texts(
                connection, "SELECT repeat('x', g % 300) || g FROM generate_series(1, \(Int32(count))) AS g")
            #expect(found == (0..<count).map { String(repeating: "x", count: ($0 + 1) % 300) + "\($0 + 1)" })
        }
    }

    @Test func connection_servesUnits_beforeAndAfter() async throws {
        let one = PreparedSQL("SELECT 1")
        try await withConnection { connection in
            for _ in 0..<3 {
                #expect(try await connection.execute(PostgresStatement(one))[0].decode(0) == 1)
                let found = try await texts(connection, "SELECT NULL::text UNION ALL SELECT ''")
                #expect(found == [nil, ""])
            }
            #expect(try await connection.execute(PostgresStatement(one))[0].decode(0) == 1)
        }
    }

    @Test func values_areLiterals_whateverTheyContain() async throws {
        let texts = ["it's", #"\'; DROP TABLE t; --"#, "ä\n\t\"{},", "", "$1", #"\x00"#, "%L%s", "E'"]
        try await withConnection { connection in
            let time = PostgresTimestamp(microsecondsSince1970: 1_234_567_890_123_456)
            for text in texts {
                let found = try await self.texts(
                    connection,
                    """
                    SELECT \(text)::text WHERE \(text) = ANY (\(texts)) AND '$1' = '$' || \(1) AND \(0.1) = 0.1::float8
                        AND \(time) = '2009-02-13 23:31:30.123456Z' AND \([true, false]) = '{t,f}'
                        AND \(Int64?.none) IS NULL AND \([Int32.min]) = ARRAY[-2147483648]
                    """)
                #expect(found == [text])
            }
        }
    }

    /// PostgreSQL ignores the case of a setting's name: the caller's value replaces the default one in any case.
    @Test(arguments: ["datestyle", "DateStyle", "DATESTYLE"])
    func values_areExact_withAnySessionSettings(name: String) async throws {
        let settings = [name: "SQL, DMY", "extra_float_digits": "-10", "timezone": "Asia/Kolkata"]
        try await withConnection(settings: settings) { connection in
            let time = PostgresTimestamp(microsecondsSince1970: 1_233_664_290_123_456)
            let found = try await texts(
                connection,
                """
                SELECT current_setting('datestyle') WHERE extract(epoch FROM \(time)) = 1233664290.123456
                    AND \(0.1 + 0.2) = 0.1::float8 + 0.2::float8 AND \(0.1 + 0.2) <> 0.3::float8
                """)
            #expect(found == ["SQL, DMY"])
        }
    }

    @Test func rows_arrive_whenTheyAreLarge() async throws {
        try await withConnection { connection in
            let found = try await texts(
                connection, "SELECT repeat(md5(g::text), 100000) FROM generate_series(1, 3) AS g")
            #expect(found.map { $0?.count } == [3_200_000, 3_200_000, 3_200_000])
        }
    }

    @Test(
        arguments: [
            ("SELECT x FROM nothing", .undefinedTable),
            ("SELECT (1 / (5000 - g))::text FROM generate_series(1, 10000) AS g", .invalidData),
        ] as [(String, PostgresError.Kind)])
    func failure_isReported_whenTheQueryIsWrongOrFailsMidway(query: String, kind: PostgresError.Kind) async throws {
        try await withConnection { connection in
            let error = try await postgresError { _ = try await texts(connection, PostgresSQL(trusted: query)) }
            #expect(error.kind == kind)
            #expect(await !connection.isOpen)
        }
    }

    @Test func failure_isReported_whenTheServerEndsTheSession() async throws {
        try await withSessions { connection, other in
            try await connection.beginCopy(of: Self.endless, timeout: .seconds(20))
            _ = try #require(try await connection.nextCopyRows(bytesMax: 1_000))
            let processID = await connection.serverProcessID
            _ = try await other.execute("SELECT pg_terminate_backend(\(processID))")
            // The connection detects it even if no caller reads.
            try await eventually("the connection is closed") { await !connection.isOpen }
            let error = try await postgresError { while try await connection.nextCopyRows(bytesMax: 1_000) != nil {} }
            #expect(error.kind == .connectionLost)
        }
    }

    @Test(arguments: [true, false]) func copy_endsAtItsDeadline_whetherRowsAreReadOrNot(isRead: Bool) async throws {
        try await withConnection { connection in
            try await connection.beginCopy(of: Self.endless, timeout: .milliseconds(200))
            if !isRead { try await eventually("the connection is closed") { await !connection.isOpen } }
            let error = try await postgresError { while try await connection.nextCopyRows(bytesMax: 1_000) != nil {} }
            #expect(error.kind == .timeout)
        }
    }

    /// Rows that were sent but not read fit into the socket's buffers.
    @Test func server_waits_whileNoRowsAreRead() async throws {
        try await withSessions { connection, other in
            try await connection.beginCopy(of: Self.endless, timeout: .seconds(20))
            let processID = await connection.serverProcessID
            for _ in 0..<3 {
                _ = try await connection.nextCopyRows(bytesMax: 1_000)
                try await eventually("the server waits") {
                    try await other.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE pid = \(processID) AND wait_event = 'ClientWrite'"
                    )[0].decode(0) == 1
                }
            }
        }
    }

    @Test func units_areRefused_duringACopy() async throws {
        try await withConnection { connection in
            try await connection.beginCopy(of: "SELECT 'x'", timeout: .seconds(10))
            let error = try await postgresError { _ = try await connection.execute("SELECT 1") }
            #expect(error.kind == .protocolViolation && error.retry == .yes)
            let second = try await postgresError {
                try await connection.beginCopy(of: "SELECT 1", timeout: .seconds(10))
            }
            #expect(second.kind == .protocolViolation)
            let (rows, rest) = (
                try await connection.nextCopyRows(bytesMax: 1_000), try await connection.nextCopyRows(bytesMax: 1_000)
            )
            #expect(rows?.texts == ["x"] && rest == nil)
        }
    }

    private static let endless: PostgresSQL = "SELECT md5(generate_series(1, 1000000000)::text)"

    private func withSessions(
        _ body: @escaping @Sendable (_ connection: PostgresConnection, _ other: PostgresConnection) async throws -> Void
    ) async throws {
        try await ThrowawayCluster.withDatabase { server in
            let configuration = try PostgresConfiguration(server.superuserConnectionString)
            try await withClient(configuration, limits: .single) { client in
                try await client.withConnection { connection in
                    try await withClient(configuration, limits: .single) { client in
                        try await client.withConnection { other in try await body(connection, other) }
                    }
                }
            }
        }
    }
}

extension PostgresCopyRows {
    /// The rows of one text column.
    fileprivate var texts: [String?] {
        var (rest, texts) = (bytes[...], [String?]())
        while !rest.isEmpty {
            #expect(rest.prefix(2) == [0, 1])
            let length = rest.dropFirst(2).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let count = Int(Int32(bitPattern: length))
            rest = rest.dropFirst(6)
            texts.append(count < 0 ? nil : String(decoding: rest.prefix(count), as: UTF8.self))
            rest = rest.dropFirst(max(count, 0))
        }
        return texts
    }
}
