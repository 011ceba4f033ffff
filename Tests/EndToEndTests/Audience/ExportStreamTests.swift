import PostgresClient
import RegistryTestSupport
import Testing

@Suite("An export is complete or visibly aborted, and waits for its reader (fine print 39)", .serialized)
struct ExportStreamTests {
    private static let body: JSON = ["filter": [:]]

    private func withApp(
        _ environment: [String: String] = [:], _ body: (RegistryApp) async throws -> Void
    ) async throws {
        try await withRegistry(eventLoops: 1, environment: environment) { registry in
            try await body(try await RegistryApp.make(in: registry))
        }
    }

    /// Begins an export on a new connection that has not read anything yet.
    private func begin(_ app: RegistryApp, _ body: JSON = Self.body) async throws -> TestConnection {
        let connection = try TestConnection(port: app.registry.client.port)
        try await connection.send(app.request("POST", "/audience/export", body, by: .role(.sender)).bytes)
        return connection
    }

    private func sessions(_ app: RegistryApp, where condition: PostgresSQL) async throws -> Int {
        try await app.database.count(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE application_name = 'push-registry audiences' AND \(sql: condition)
            """)
    }

    private func waitUntilHeldUp(_ app: RegistryApp) async throws {
        try await eventually("the export waits for its reader") {
            try await sessions(app, where: "query LIKE 'COPY%' AND wait_event = 'ClientWrite'") == 1
        }
    }

    @Test func export_isAborted_whenItsSessionEnds() async throws {
        try await withApp { app in
            try await app.fill(400)
            let connection = try await begin(app)
            try await waitUntilHeldUp(app)
            _ = try await app.database.rows(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = 'push-registry audiences'
                """)
            await #expect(throws: HTTPClientError.closed) { try await connection.response() }
            #expect(try await app.export(Self.body).count == 400)
        }
    }

    @Test func export_endsItsTransaction_whenItsReaderLeaves() async throws {
        try await withApp { app in
            try await app.fill(400)
            var connection: TestConnection? = try await begin(app)
            try await waitUntilHeldUp(app)
            withExtendedLifetime(connection) {}
            connection = nil
            try await eventually("the export is over") {
                try await sessions(app, where: "xact_start IS NOT NULL") == 0
            }
        }
    }

    @Test func export_endsItsTransaction_atItsDeadline() async throws {
        try await withApp(["PUSH_REGISTRY_EXPORT_DEADLINE": "3s"]) { app in
            try await app.fill(400)
            let connection = try await begin(app)
            try await waitUntilHeldUp(app)
            try await eventually("the export is over") {
                try await sessions(app, where: "xact_start IS NOT NULL") == 0
            }
            await #expect(throws: HTTPClientError.closed) { try await connection.response() }
        }
    }

    @Test func export_isComplete_whenItContinuesAfterAnyCut() async throws {
        try await withApp { app in
            try await app.fill(700, tokenBytes: 256)
            var (ids, after, cuts) = ([String](), JSON.null, 0)
            while ids.count < 700 {
                let part = try await part(of: app, after: after, bytes: 20_000 + 777 * cuts)
                ids += part.map { $0["installId"].string ?? "" }
                after = part.last?["cursor"] ?? after
                cuts += 1
            }
            #expect(cuts > 5)
            let whole = try await app.export(Self.body)
            #expect(ids == whole.map { $0["installId"].string ?? "" })
        }
    }

    /// The complete lines among the first bytes of an export. HTTP/1.0 has no chunks.
    private func part(of app: RegistryApp, after: JSON, bytes: Int) async throws -> [JSON] {
        var body = Self.body
        if after != .null { body["after"] = after }
        let request = app.request("POST", "/audience/export", body, by: .role(.sender)).bytes
        let text = String(decoding: request, as: UTF8.self).replacing("HTTP/1.1", with: "HTTP/1.0")
        let connection = try TestConnection(port: app.registry.client.port)
        try await connection.send(Array(text.utf8))
        let response = try await connection.receive(bytes)
        let head = try #require(response.firstRange(of: Array("\r\n\r\n".utf8)))
        let lines = response[head.upperBound...].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return try lines.dropLast().map { try JSON(parsing: $0) }
    }

    /// The reader is slower than the export, but never stops for long.
    @Test func export_takesLittleMemory_whenItsReaderIsSlow() async throws {
        try await withApp { app in
            try await app.fill(800)
            let connection = try await begin(app)
            try await waitUntilHeldUp(app)
            let before = try app.registry.service.command.residentMegabytesMax()
            for _ in 0..<1_000 {
                _ = try await connection.receive(40_000)
                #expect(try await app.registry.client.response(to: HTTPRequest("GET", "/healthz")).status == 200)
            }
            #expect(try app.registry.service.command.residentMegabytesMax() < before + 12)
        }
    }

    @Test func export_isCompressed_whenTheClientPrefersIt() async throws {
        try await withApp { app in
            try await app.fill(50)
            let response = try await app.send(
                "POST", "/audience/export", Self.body, by: .role(.sender), fields: [("Accept-Encoding", "gzip")])
            #expect(response["Content-Encoding"] == "gzip" && response.body.prefix(2) == [0x1F, 0x8B])
            #expect(response.body.count < 50 * 64_000)
        }
    }
}

extension RegistryApp {
    /// So many installations, with long tokens: of hundreds with 64 KB each the server has to wait for the reader, as
    /// no buffer holds them.
    fileprivate func fill(_ count: Int, tokenBytes: Int = 64_000) async throws {
        _ = try await put("phone")
        for first in stride(from: 1, to: count, by: 100) {
            let copies: PostgresStatement = """
                INSERT INTO installation
                SELECT (jsonb_populate_record(i, jsonb_build_object(
                    'install_id', 'copy-' || g, 'token', t.text, 'token_sha256', sha256(t.text::bytea)))).*
                FROM installation i JOIN app ON app.id = app_id
                    CROSS JOIN generate_series(\(Int64(first)), \(Int64(min(first + 99, count - 1)))) AS g
                    CROSS JOIN LATERAL (SELECT repeat(md5(g::text), \(Int32(tokenBytes / 32))) AS text) AS t
                WHERE identifier = \(id) AND install_id = 'phone'
                """
            _ = try await database.rows(copies)
        }
    }
}
