import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Each command reports what it did, or why it failed", .serialized)
struct CommandLineTests {
    /// Lends a database as an environment variable; by default with the schema.
    private func withDatabase(
        isEmpty: Bool = false, _ body: ([String: String]) async throws -> Void
    ) async throws {
        var logger = Logger(label: "cluster")
        logger.logLevel = .critical
        try await ThrowawayCluster.withDatabase(from: isEmpty ? nil : .migrated, logger: logger) { cluster in
            try await body([
                "PUSH_REGISTRY_DATABASE_URL": cluster.connectionString,
                "PUSH_REGISTRY_ADMIN_KEY": RunningService.adminKey,
            ])
        }
    }

    private func tables(_ environment: [String: String]) async throws -> Int {
        try await TestDatabase.with(environment["PUSH_REGISTRY_DATABASE_URL"] ?? "") { database in
            try await database.count("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        }
    }

    /// Only `serve` and `migrate` change the schema: a laptop with a newer binary must not migrate production.
    @Test func commands_sayWhichSchemaTheyNeed_andChangeNothing() async throws {
        let commands = [
            ["cleanup", "--dry-run"], ["cleanup"], ["cleanup", "runs"], ["cleanup", "undo", "1"], ["apps", "list"],
            ["apps", "create", "a"], ["apps", "policy", "get", "a"], ["apps", "move", "a"], ["keys", "list", "a"],
            ["topics", "list", "a"], ["messages", "list", "a"], ["segment", "count", "--app", "a", "--filter", "{}"],
            ["import", "/dev/null", "--format", "csv", "--app", "a"], ["rebuild-rollup"], ["verify"],
            ["distribute"], ["audit"],
        ]
        func expectRefusal(_ command: [String], _ environment: [String: String], _ words: String) async throws {
            let result = try await RegistryCommand.run(command, environment: environment)
            let saysNothingWasChanged = ["cleanup", "verify"].contains(command[0])
            #expect(result.status == (saysNothingWasChanged ? 2 : 1), "\(command): \(result.log)")
            #expect(result.output.isEmpty && result.log.contains("push-registry migrate"), "\(command): \(result.log)")
            #expect(result.log.contains(words) && !result.log.contains("Usage"), "\(command): \(result.log)")
        }
        try await withDatabase(isEmpty: true) { environment in
            for command in commands {
                try await expectRefusal(command, environment, "has no schema")
                #expect(try await tables(environment) == 0, "\(command)")
            }
            #expect(try await RegistryCommand.run(["migrate"], environment: environment).status == 0)
            let versions = try await TestDatabase.with(environment["PUSH_REGISTRY_DATABASE_URL"] ?? "") { database in
                let versions = try await database.column(
                    "SELECT version FROM schema_migration ORDER BY version DESC LIMIT 2", as: Int32.self)
                _ = try await database.rows("DELETE FROM schema_migration WHERE version = \(versions[0])")
                return versions
            }
            for command in [["apps", "list"], ["cleanup"], ["verify"]] {
                try await expectRefusal(command, environment, "version \(versions[1])")
                try await expectRefusal(command, environment, "needs version \(versions[0])")
            }
        }
    }

    /// A newer version, or an older one, wrote the policy. A provisioning script creates the app at every run.
    @Test func create_keepsAPolicy_thatThisVersionCannotUse_andListShowsIt() async throws {
        try await withDatabase { environment in
            let policy = #"{"grace": "PT1H", "storeAdvertisingId": true}"#
            try await TestDatabase.with(environment["PUSH_REGISTRY_DATABASE_URL"] ?? "") { database in
                _ = try await RegistryCommand.run(["apps", "create", "mail"], environment: environment)
                _ = try await RegistryCommand.run(["apps", "create", "news"], environment: environment)
                _ = try await database.rows("UPDATE app SET policy = \(policy)::text::jsonb WHERE identifier = 'mail'")
                let again = try await RegistryCommand.run(["apps", "create", "mail"], environment: environment)
                #expect(again.status == 0 && again.output == "mail exists already\n", "\(again.log)")
                let stored = try await database.column(
                    "SELECT policy::text FROM app WHERE identifier = 'mail'", as: String.self)
                #expect(stored == [policy])
            }
            let list = try await RegistryCommand.run(["apps", "list"], environment: environment)
            let lines = list.output.split(separator: "\n")
            #expect(lines.count == 2 && lines[1] == "news", "\(lines)")
            #expect(lines[0].hasPrefix("mail") && lines[0].contains("grace"), "\(lines)")
            let json = try JSON(
                parsing: try await RegistryCommand.run(["apps", "list", "--json"], environment: environment).output.utf8
            )
            #expect(json["apps"] == ["news"] && json["unusable"][0]["app"] == "mail")
            #expect(json["unusable"][0]["reason"].string?.contains("grace") == true)
        }
    }

    @Test(arguments: [
        [], ["serve"], ["migrate"], ["apps"], ["apps", "list"], ["apps", "create"], ["apps", "move"],
        ["apps", "policy"], ["apps", "policy", "get"], ["apps", "policy", "set"], ["keys"], ["keys", "list"],
        ["keys", "create"], ["keys", "revoke"], ["topics"], ["topics", "list"], ["topics", "set"],
        ["topics", "delete"], ["messages"], ["messages", "list"], ["messages", "show"], ["cleanup"],
        ["cleanup", "run"], ["cleanup", "runs"], ["cleanup", "undo"], ["segment"], ["segment", "count"],
        ["segment", "breakdown"], ["segment", "export"], ["verify"], ["rebuild-rollup"], ["import"], ["distribute"],
        ["config"], ["healthcheck"], ["audit"],
    ])
    func help_isPrinted_forEverySubcommand(command: [String]) async throws {
        let result = try await RegistryCommand.run(command + ["--help"])
        #expect(result.status == 0)
        #expect(result.output.contains("USAGE: " + (["push-registry"] + command).joined(separator: " ")))
        #expect(result.output.contains("OVERVIEW:"))
        #expect(result.log.isEmpty)
        let lines = result.output.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= ($0.hasPrefix("USAGE:") ? 100 : 80) })
        // A line of a listing that is too long would be broken after any word.
        #expect(!lines.contains("Exit") && !lines.contains { $0.hasPrefix("codes:") })
    }

    @Test(arguments: [
        (["dance"], "dance"), (["serve", "--listen"], "--listen"), (["serve", "--listen", ""], "--listen"),
        (["keys", "create", "app"], "--name"),
        (["keys", "create", "app", "--role", "admin", "--name", String(repeating: "x", count: 257)], "256"),
        (["serve", "--event-loops", "0"], "event loops"), (["serve", "--log-level", "loud"], "loud"),
        (["serve", "--log-format", "xml"], "xml"),
    ])
    func usageErrors_areReported_withExitCode64(arguments: [String], word: String) async throws {
        let result = try await RegistryCommand.run(arguments)
        #expect(result.status == 64)
        #expect(result.log.contains(word), "\(result.log)")
        #expect(result.output.isEmpty)
    }

    @Test func migrate_appliesTheSchema_once() async throws {
        try await withDatabase(isEmpty: true) { environment in
            let dry = try await RegistryCommand.run(["migrate", "--dry-run"], environment: environment)
            #expect(dry.status == 0)
            #expect(dry.output.hasPrefix("pending 1 create_app\n"))
            let first = try await RegistryCommand.run(["migrate"], environment: environment)
            #expect(first.status == 0)
            #expect(first.output.hasPrefix("applied 1 create_app\n"))
            for arguments in [["migrate"], ["migrate", "--dry-run"]] {
                let again = try await RegistryCommand.run(arguments, environment: environment)
                #expect(again.status == 0)
                #expect(again.output == "the schema is up to date\n")
            }
        }
    }

    @Test func appsAndKeys_areCreatedListedAndRevoked() async throws {
        try await withDatabase { environment in
            func run(_ arguments: String...) async throws -> String {
                let result = try await RegistryCommand.run(arguments, environment: environment)
                #expect(result.status == 0, "\(arguments): \(result.log)")
                return result.output
            }
            #expect(try await run("apps", "create", "com.example.mail") == "created com.example.mail\n")
            #expect(try await run("apps", "create", "com.example.mail") == "com.example.mail exists already\n")
            #expect(try await run("apps") == "com.example.mail\n")
            let json = try JSON(parsing: Array(try await run("apps", "list", "--json").utf8))
            #expect(json == ["apps": ["com.example.mail"], "unusable": []])
            let made = try await run(
                "keys", "create", "com.example.mail", "--name", "back end", "--role", "service", "--role", "sender")
            #expect(made.hasPrefix("prk_"))
            let id = String(made.dropFirst(4).prefix(16))
            let list = try await run("keys", "list", "com.example.mail")
            #expect(list.contains(id) && list.contains("back end"))
            #expect(!list.contains(made.dropLast().suffix(64)))
            #expect(try await run("keys", "revoke", "com.example.mail", id) == "revoked \(id)\n")
            let keys = try JSON(parsing: Array(try await run("keys", "list", "com.example.mail", "--json").utf8))
            #expect(keys["keys"][0]["revokedAt"].string != nil)
            #expect(keys["keys"][0]["roles"] == ["sender", "service"])
        }
    }

    @Test func change_isALineOfTheAuditLog_withoutTheSecret() async throws {
        try await withDatabase { environment in
            func audit(_ arguments: String...) async throws -> (lines: [JSON], output: String) {
                let result = try await RegistryCommand.run(arguments, environment: environment)
                #expect(result.status == 0, "\(arguments): \(result.log)")
                let lines = result.log.split(separator: "\n").compactMap { try? JSON(parsing: $0.utf8) }
                return (lines.filter { $0["logger"] == "audit" }, result.output)
            }
            let created = try await audit("apps", "create", "mail").lines
            #expect(created.count == 1)
            #expect(created.first?["message"] == "app created" && created.first?["app"] == "mail")
            #expect(created.first?["actor"].string?.hasPrefix("cli:") == true)
            #expect(try await audit("apps", "create", "mail").lines.isEmpty, "nothing was changed")
            let (key, secret) = try await audit("keys", "create", "mail", "--name", "n", "--role", "sender")
            let id = String(secret.dropFirst(4).prefix(16))
            #expect(key.first?["message"] == "key created" && key.first?["keyId"] == .string(id))
            #expect(key.first?["roles"] == "sender" && key.first?["name"] == "n")
            #expect(!"\(key)".contains(secret.dropLast().suffix(40)))
            #expect(try await audit("keys", "revoke", "mail", id).lines.first?["message"] == "key revoked")
            let policy = try await audit("apps", "policy", "set", "mail", #"{"jwtIssuer": "me", "grace": "P9D"}"#).lines
            #expect(policy.first?["message"] == "policy changed" && policy.first?["members"] == "grace,jwtIssuer")
            let saved = try await audit("topics", "set", "mail", "news", "--name", "News", "--default", "in").lines
            #expect(saved.first?["message"] == "topic saved" && saved.first?["topic"] == "news")
            #expect(try await audit("topics", "delete", "mail", "news").lines.first?["message"] == "topic deleted")
            let actions = [
                "topic.deleted", "topic.saved", "policy.changed", "key.revoked", "key.created", "app.created",
            ]
            let entries = try JSON(parsing: try await audit("audit", "mail", "--json").output.utf8)["entries"].array
            #expect(entries.map { $0["action"].string ?? "" } == actions)
            #expect(entries.allSatisfy { $0["actor"] == created.first?["actor"] && $0["roles"] == [] })
            #expect(entries[2]["members"] == ["grace", "jwtIssuer"] && entries[3]["target"].string == id)
            let text = try await audit("audit", "mail", "--limit", "3").output
            #expect(text.split(separator: "\n").count == 3 && text.hasSuffix("policy.changed  mail  grace,jwtIssuer\n"))
            #expect(try await audit("audit").output.isEmpty, "nothing belongs to no app")
        }
    }

    @Test func policy_isPrinted_changedAndReplaced() async throws {
        try await withDatabase { environment in
            func run(_ arguments: String...) async throws -> (status: Int32, policy: JSON, log: String) {
                let result = try await RegistryCommand.run(["apps", "policy"] + arguments, environment: environment)
                return (result.status, (try? JSON(parsing: result.output.utf8)) ?? .null, result.log)
            }
            _ = try await RegistryCommand.run(["apps", "create", "mail"], environment: environment)
            let standard = try await run("get", "mail")
            #expect(standard.status == 0 && standard.policy["grace"] == "P7D" && standard.policy["app"] == "mail")
            _ = try await run("set", "mail", #"{"grace": "P14D"}"#)
            let changed = try await run("set", "mail", #"{"staleAfter": {"fcm": "P45D"}, "jwtIssuer": "me"}"#)
            #expect(changed.policy["grace"] == "P14D" && changed.policy["staleAfter"]["fcm"] == "P45D")
            #expect(try await run("get", "mail").policy == changed.policy)
            let replaced = try await run("set", "mail", #"{"jwtIssuer": "me"}"#, "--replace")
            #expect(replaced.policy["grace"] == "P7D" && replaced.policy["jwtIssuer"] == "me")
            #expect(try await run("set", "mail", changed.policy.text, "--replace").policy == changed.policy)
        }
    }

    @Test func policy_isRefusedWithAReason_andNotChanged() async throws {
        try await withDatabase { environment in
            _ = try await RegistryCommand.run(["apps", "create", "mail"], environment: environment)
            for (policy, word) in [
                (#"{"grase": "P14D"}"#, "Did you mean grace?"), (#"{"grace": "PT1H"}"#, "/grace"),
                ("grace", "policy: "), (#"{"app": "other"}"#, "/app"), ("@/nonexistent.json", "/nonexistent.json"),
            ] {
                let result = try await RegistryCommand.run(
                    ["apps", "policy", "set", "mail", policy], environment: environment)
                #expect(result.status == 64 && result.log.contains(word), "\(result.log)")
            }
            let kept = try await RegistryCommand.run(["apps", "policy", "get", "mail"], environment: environment)
            #expect(try JSON(parsing: kept.output.utf8)["grace"] == "P7D")
        }
    }

    @Test func keysOfTheCommand_areValidInTheService_atOnce() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let result = try await registry.run(
                ["keys", "create", app.id, "--name", "x", "--role", "service", "--json"])
            let key = try JSON(parsing: Array(result.output.utf8))
            #expect(try await app.put("phone", by: .text(key["key"].string ?? "")).status == 201)
            _ = try await registry.run(["keys", "revoke", app.id, key["id"].string ?? ""])
            #expect(try await app.put("phone", by: .text(key["key"].string ?? "")).status == 401)
        }
    }

    @Test func commands_failWithAReason_whenTheObjectDoesNotExist() async throws {
        try await withDatabase { environment in
            for (arguments, word) in [
                (["apps", "create", "two words"], "two words"),
                (["keys", "list", "com.example.none"], "com.example.none"),
                (["keys", "create", "a", "--name", "n", "--role", "king"], "king"),
                (["keys", "create", "a", "--name", "n", "--role", "client"], "The app a does not exist"),
            ] {
                let result = try await RegistryCommand.run(arguments, environment: environment)
                #expect(result.status != 0 && result.log.contains(word), "\(result.log)")
            }
        }
    }

    @Test(arguments: [["serve"], ["migrate"], ["verify"], ["cleanup"], ["apps"], ["keys", "list", "a"]])
    func commands_printOneLine_whenTheDatabaseIsAway(arguments: [String]) async throws {
        let result = try await RegistryCommand.run(
            arguments,
            environment: [
                "PUSH_REGISTRY_DATABASE_URL": "host=/nonexistent dbname=x password=hush",
                "PUSH_REGISTRY_ADMIN_KEY": RunningService.adminKey,
            ])
        #expect(["migrate", "verify", "cleanup"].contains(arguments[0]) ? result.status == 2 : result.status != 0)
        #expect(result.log.contains("/nonexistent"), "\(result.log)")
        #expect(!(result.log + result.output).contains("hush"))
    }

    /// Only `serve` creates a database. A cron job that lost its environment must fail.
    @Test(arguments: [
        ["migrate"], ["verify"], ["cleanup"], ["cleanup", "runs"], ["apps"], ["keys", "list", "a"], ["rebuild-rollup"],
        ["segment", "count", "--app", "a", "--filter", "{}"], ["import", "/dev/null", "--format", "csv", "--app", "a"],
    ])
    func commands_createNoDatabase(arguments: [String]) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "empty-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for environment in [[:], ["PUSH_REGISTRY_DATABASE_URL": ""]] {
            let result = try await RegistryCommand.run(arguments, environment: environment, in: folder.path)
            #expect(
                result.status == (["migrate", "verify", "cleanup"].contains(arguments[0]) ? 2 : 1), "\(result.log)")
            #expect(result.log.contains("PUSH_REGISTRY_DATABASE_URL") && !result.log.contains("Usage"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test func commands_printTheirDatabase_withoutItsPassword() async throws {
        try await withDatabase { environment in
            var environment = environment
            environment["PUSH_REGISTRY_DATABASE_URL"]? += " password=hush"
            let result = try await RegistryCommand.run(["migrate"], environment: environment)
            #expect(result.status == 0)
            #expect(result.log.contains("database: dbname=push_registry host="), "\(result.log)")
            #expect(result.log.contains("(PUSH_REGISTRY_DATABASE_URL)") && !result.log.contains("hush"))
        }
    }

    @Test func config_printsEverySetting_withItsSource_andNoSecret() async throws {
        let environment = [
            "PUSH_REGISTRY_ADMIN_KEY": RunningService.adminKey, "PUSH_REGISTRY_DRAIN_DELAY": "3s",
            "PUSH_REGISTRY_DATABASE_URL": "postgresql://me:hush@db/x",
        ]
        let result = try await RegistryCommand.run(
            ["config", "--json", "--listen", "127.0.0.1:9"], environment: environment)
        #expect(result.status == 0, "\(result.log)")
        let settings = try JSON(parsing: Array(result.output.utf8))["settings"].array
        func line(_ name: String) -> JSON { settings.first { $0["name"].string == name } ?? .null }
        #expect(line("listen") == ["name": "listen", "value": "127.0.0.1:9", "from": "--listen"])
        #expect(line("drainDelay")["from"] == "PUSH_REGISTRY_DRAIN_DELAY" && line("drainDelay")["value"] == "3s")
        #expect(line("idleDeadline") == ["name": "idleDeadline", "value": "PT75S", "from": "default"])
        #expect(line("adminKey")["value"] == "(secret)" && line("databaseUrl")["value"] == "(secret)")
        #expect(!result.output.contains("hush") && !result.output.contains(RunningService.adminKey))
        let table = try await RegistryCommand.run(["config"], environment: environment)
        #expect(table.output.contains("drainDelay"))
        let refused = try await RegistryCommand.run(["config"], environment: ["PUSH_REGISTRY_DRAINDELAY": "3s"])
        #expect(refused.status == 64 && refused.log.contains("PUSH_REGISTRY_DRAIN_DELAY"))
    }

    @Test(arguments: [["--listen", "nonsense"], ["--tls-cert", "/none.pem"], ["--demo"]])
    func serve_createsNoDatabase_whenASettingIsInvalid(arguments: [String]) async throws {
        let folder = "/tmp/push-registry-none-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let environment = arguments == ["--demo"] ? ["PUSH_REGISTRY_DATABASE_URL": "host=127.0.0.1 port=1"] : [:]
        let result = try await RegistryCommand.run(
            ["serve", "--data-dir", folder] + arguments, environment: environment)
        #expect(result.status == 64 && result.log.hasPrefix("Error: "), "\(result.log)")
        #expect(!result.log.contains("Usage:") && !FileManager.default.fileExists(atPath: folder))
    }

    @Test func serve_requiresAnAdminKey_onAConfiguredDatabase() async throws {
        try await withDatabase { environment in
            for key in [nil, "short"] {
                var environment = environment
                environment["PUSH_REGISTRY_ADMIN_KEY"] = key
                let result = try await RegistryCommand.run(["serve"], environment: environment)
                #expect(result.status == 64)
                #expect(result.log.contains("PUSH_REGISTRY_ADMIN_KEY"))
            }
        }
    }

    @Test func serve_reportsThat_itsPortIsTaken() async throws {
        try await withRegistry { registry in
            let result = try await RegistryCommand.run(
                ["serve", "--listen", "127.0.0.1:\(registry.client.port)"],
                environment: [
                    "PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString,
                    "PUSH_REGISTRY_ADMIN_KEY": RunningService.adminKey,
                ])
            #expect(result.status != 0)
            #expect(result.log.contains("\(registry.client.port)"), "\(result.log)")
        }
    }
}
