import Foundation
import Glibc
import Testing

@testable import EmbeddedPostgres

@Suite("Starting creates what is missing and reports what is wrong")
struct StartTests {
    @Test func start_createsRoleAndItsDatabase_whenFolderIsEmpty() async throws {
        try await withFolder { folder in
            try await withServer(in: "\(folder)/.push-registry") { server in
                let output = try await server.query(
                    """
                    SELECT current_user, current_database(), pg_encoding_to_char(encoding), datcollate,
                           pg_get_userbyid(datdba), current_setting('data_checksums'), current_setting('fsync'),
                           current_setting('listen_addresses') = ''
                      FROM pg_database WHERE datname = current_database()
                    """)
                #expect(output == "push_registry|push_registry|UTF8|C.UTF-8|push_registry|on|on|t")
                #expect(server.loopbackConnectionString == nil)
            }
        }
    }

    @Test func endOfTheLog_isRead_whenTheLogHasGigabytes() async throws {
        try await withFolder { folder in
            let cluster = try await ClusterFolder.prepare(in: folder)
            let log = try #require(fopen("\(cluster.log)/friday.log", "w"))
            defer { fclose(log) }
            // A sparse file: to read all of it would take more memory than this machine has.
            fseeko(log, 1 << 40, SEEK_SET)
            fputs("\nFATAL:  the reason\nHINT:  the way out\n", log)
            fflush(log)
            #expect(ServerLog.end(cluster)?.hasSuffix("FATAL:  the reason\nHINT:  the way out") == true)
        }
    }

    @Test func start_keepsData_whenServerWasStopped() async throws {
        try await withFolder { folder in
            try await withServer(in: folder) { try await $0.query("CREATE TABLE kept AS SELECT 42 AS value") }
            try await withServer(in: folder) { try await $0.expect("TABLE kept", is: "42") }
        }
    }

    @Test func start_createsDataAgain_whenCreationWasInterrupted() async throws {
        try await withFolder { folder in
            let user = ServerUser.forNewServer()
            try ClusterFolder.makeFolder("\(folder)/postgres", user: user)
            try ClusterFolder.makeFolder("\(folder)/postgres/data.new", user: user)
            try "15\n".write(toFile: "\(folder)/postgres/data.new/PG_VERSION", atomically: false, encoding: .utf8)
            try await withServer(in: folder) { try await $0.expect("SELECT 1", is: "1") }
        }
    }

    @Test func settings_reachServer_whenTheyContainQuotes() async throws {
        try await withFolder { folder in
            try await withServer(in: folder, settings: ["cluster_name": "it's \"$HOME\"", "max_connections": "7"]) {
                try await $0.expect("SHOW cluster_name", is: "it's \"$HOME\"")
                try await $0.expect("SHOW max_connections", is: "7")
            }
        }
    }

    @Test func start_quotesLogAndFreesFolder_whenSettingIsWrong() async throws {
        try await withFolder { folder in
            let error = await #expect(throws: EmbeddedPostgresError.self) {
                try await EmbeddedPostgres.start(folder, settings: ["shared_buffers": "lots"])
            }
            #expect(error?.description.contains("shared_buffers") == true)
            try await withServer(in: folder) { #expect(await $0.isRunning) }
        }
    }

    @Test func start_usesShortSocketFolder_whenPathIsLong() async throws {
        try await withFolder { folder in
            let long = "\(folder)/\(String(repeating: "long", count: 25))"
            let sockets = try await withServer(in: long) { server in
                try await server.expect("SELECT 1", is: "1")
                return socketFolder(server.connectionString)
            }
            #expect(!sockets.hasPrefix(folder))
            #expect(FileStatus(sockets) == nil)
        }
    }

    @Test func start_isRefused_whenPathWouldMisleadShell() async throws {
        try await withFolder { folder in
            let error = await #expect(throws: EmbeddedPostgresError.self) {
                try await EmbeddedPostgres.start("\(folder)/$HOME")
            }
            #expect(error?.description.contains("PUSH_REGISTRY_DATA_DIR") == true)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root's server has another user"))
    func start_linksToSystemFolder_whenServersUserCannotEnter() async throws {
        try await withFolder { folder in
            chmod(folder, 0o700)
            let link = "\(folder)/.push-registry/postgres"
            try await withServer(in: "\(folder)/.push-registry") { try await $0.query("CREATE TABLE kept ()") }
            let home = try FileManager.default.destinationOfSymbolicLink(atPath: link)
            defer { try? FileManager.default.removeItem(atPath: home) }
            #expect(home.hasPrefix("/var/lib/push-registry/"))
            try await withServer(in: "\(folder)/.push-registry") {
                try await $0.expect("SELECT 'kept'::regclass", is: "kept")
            }
        }
    }

    @Test func server_runsInOwnSession_soThatTerminalDoesNotReachIt() async throws {
        try await withServer { server, _ in
            let processID = try #require(await server.processID)
            #expect(getsid(processID) != getsid(0))
            #expect(getpgid(processID) != getpgid(0))
        }
    }

    @Test func socket_isReachableForServersUserOnly() async throws {
        try await withServer { server, _ in
            let status = try #require(FileStatus(socketFolder(server.connectionString)))
            #expect(status.isPrivate)
            #expect(status.owner == ServerUser.forNewServer().userID)
        }
    }
}
