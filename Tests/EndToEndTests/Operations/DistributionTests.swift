import EmbeddedPostgres
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

extension EndToEnd {
    @Suite("On Citus, each app lies on one node and can be moved", .enabled(if: CitusCluster.isWanted))
    struct DistributionTests {
        @Test func distribution_isComplete() async throws {
            let tables = try await Registry.shared.database.column(
                """
                SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                WHERE a.attname = 'app_id' AND c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
                    AND NOT EXISTS (SELECT FROM pg_dist_partition p WHERE p.logicalrelid = c.oid) ORDER BY 1
                """, as: String.self)
            #expect(
                tables == [
                    "api_key", "app_signing_key", "audit_entry", "cleanup_result", "deleted_topic",
                    "directory_change", "segment", "segment_topic", "segment_use", "topic",
                ])
            let again = try await command("distribute", "--dry-run", "--json", on: .shared)
            #expect(again["isDone"] == true && again["nodes"].array.count >= 2)
            #expect(again["compilingNodes"] == [], "jit is off on every node")
        }

        /// A statement that Citus executes in steps may fetch all rows of an app in one of them.
        @Test(
            arguments: [
                Statement("lookUp", RegistrationStatements.lookUp),
                Statement("change", RegistrationStatements.change),
                Statement("lock", RegistrationStatements.lock), Statement("holders", HolderStatements.lockSQL),
                Statement("moved holders", HolderStatements.moveSQL), Statement("users", GuardStatements.users),
                Statement("sessions", GuardStatements.sessions),
                Statement("logouts", GuardStatements.installationLogouts),
                Statement("end session", GuardStatements.endSession), Statement("refuse", GuardStatements.refuseUser),
                Statement("end excepted", GuardStatements.endExceptedSession),
                Statement("end sessions", GuardStatements.endSessionsOfBindings),
                Statement("end owners", OwnerStatements.end), Statement("read", InstallationStatements.read),
                Statement("lock installations", InstallationStatements.lock),
                Statement("lock of user", UserStatements.lockOfUser),
                Statement("lock of session", UserStatements.lockOfSession), Statement("list", UserStatements.list),
                Statement("seen", UserStatements.seenWithUser), Statement("left", UserStatements.leftByUser),
                Statement("anonymize", UserStatements.anonymizeEvents),
                Statement("forget registrant", UserStatements.forgetRegistrant),
                Statement("forget owners", UserStatements.forgetFormerOwners),
                Statement("delete owners", UserStatements.deleteOwners),
                Statement("texts", RollUpCellStatements.addTexts),
                Statement("cells", RollUpCellStatements.addCells),
                Statement("find cells", RollUpCellStatements.find),
                Statement("notifications", NotificationStatements.states),
            ] + Self.inserts)
        func statement_isExecutedOnTheNodeOfItsApp_inOneStep(_ statement: Statement) async throws {
            let plan = try await statement.plan()
            #expect(!plan.contains("Distributed Subplan"), "\(plan)")
            #expect(!plan.contains(#/Task Count: (?![01]\b)/#), "\(plan)")
        }

        /// What registrations, feedback, logouts, topics, notifications and receipts insert.
        private static let inserts = [
            Statement("add holders", HolderStatements.addSQL), Statement("insert", ChangeStatements.insert),
            Statement("keep snapshots", SnapshotStatements.keep),
            Statement("touch", RegistrationStatements.touch), Statement("bind", ChangeStatements.bind),
            Statement("snap", ChangeStatements.snap), Statement("step", ChangeStatements.step),
            Statement("leave", GuardStatements.leaveSessions), Statement("keep session", GuardStatements.keepSession),
            Statement("add logouts", GuardStatements.addInstallationLogouts),
            Statement("begin owners", OwnerStatements.begin), Statement("events", EventStatements.appendSQL),
            Statement("deltas", RollUpDeltaStatements.append),
            Statement("counters", NotificationStatements.addCounters),
            Statement("add notifications", NotificationStatements.add),
            Statement("remember", NotificationStatements.remember), Statement("receipts", ReceiptStatements.count),
            Statement("targets", ReceiptStatements.targetSQL),
        ]

        /// Else Citus executes the SELECT on the coordinator and copies its rows to the node, for ten times the CPU
        /// time.
        @Test(arguments: Self.inserts)
        func insert_isExecutedOnTheNodeOfItsApp(_ statement: Statement) async throws {
            let plan = try await statement.plan()
            #expect(plan.contains(#/Task Count: [01]\b/#), "\(plan)")
            #expect(!plan.contains("pull to coordinator"))
        }

        /// Citus plans a join or an INSERT … SELECT at each execution, which costs more than the execution.
        @Test(
            arguments: [
                Statement("lookUp", RegistrationStatements.lookUp),
                Statement("users", GuardStatements.users),
                Statement("sessions", GuardStatements.sessions),
                Statement("logouts", GuardStatements.installationLogouts),
            ])
        func statementOfOneTable_isPlannedOnceForASession(_ statement: Statement) async throws {
            let plans = try await statement.prepared { transaction, name, values in
                for _ in 0..<7 { _ = try await transaction.run("EXECUTE \(name) \(values)") }
                return try await transaction.execute(
                    "SELECT generic_plans FROM pg_prepared_statements WHERE name = \(name)")[0]
                    .decode(0, as: Int64.self)
            }
            #expect(plans == 2, "Five executions have plans of their own.")
        }

        /// A statement of the store.
        struct Statement: Sendable, CustomTestStringConvertible {
            let testDescription: String
            private let sql: PreparedSQL

            init(_ name: String, _ sql: PreparedSQL) {
                (testDescription, self.sql) = (name, sql)
            }

            /// Of app 1, and NULL for every other value. Empty if Citus cannot explain it (0A000), as with some
            /// statements that it executes.
            func plan() async throws -> String {
                do {
                    return try await prepared { transaction, name, values in
                        _ = try await transaction.execute("SET LOCAL plan_cache_mode = force_custom_plan")
                        return try await transaction.run("EXPLAIN EXECUTE \(name) \(values)")
                            .map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
                    }
                } catch let error as PostgresError where error.sqlState == "0A000" {
                    return ""
                }
            }

            /// - Parameter body: gets the statement's name, and its values in parentheses.
            func prepared<Value: Sendable>(
                _ body: (_ transaction: PostgresTransaction, _ name: String, _ values: String) async throws -> Value
            ) async throws -> Value {
                let name = "planned_" + String(UInt64.random(in: 0 ... .max), radix: 36)
                return try await Registry.shared.database.withTransaction { transaction in
                    _ = try await transaction.run("PREPARE \(name) AS \(sql.text)")
                    let count: Int64 = try await transaction.execute(
                        "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = \(name)")[0]
                        .decode(0)
                    let values = ["1"] + Array(repeating: "NULL", count: Int(count) - 1)
                    let value = try await body(transaction, name, "(\(values.joined(separator: ", ")))")
                    _ = try await transaction.run("DEALLOCATE \(name)")
                    return value
                }
            }
        }

        /// Positions and deltas are compared with transactions of the coordinator.
        @Test func deltasAndEvents_nameTransactionsOfTheCoordinator() async throws {
            let app = try await RegistryApp.make()
            let (database, number) = (app.database, try await app.number())
            try await database.withTransaction { transaction in
                // No fold removes the delta meanwhile.
                _ = try await transaction.execute("SELECT FROM rollup_state WHERE app_id = \(number) FOR UPDATE")
                let first = try #require(try await database.column(Self.transactionID, as: Int64.self).first)
                #expect(try await app.put("phone", as: "alice").status == 201)
                let last = try #require(try await database.column(Self.transactionID, as: Int64.self).first)
                let written = try await database.column(
                    "SELECT transaction_id FROM rollup_delta WHERE app_id = \(number)", as: Int64.self)
                let positions = try await database.column(
                    "SELECT position FROM token_event WHERE app_id = \(number)", as: Int64.self)
                #expect(written.count == 1 && written.allSatisfy { (first...last).contains($0) })
                #expect(positions.count == 1 && positions.allSatisfy { (first...last).contains($0) })
            }
        }

        /// So are changes of messages.
        @Test func changesOfMessages_nameTransactionsOfTheCoordinator() async throws {
            let app = try await RegistryApp.make()
            let number = try await app.number()
            var delta = MessageDelta()
            delta.count(targeted: 1, of: MessageNumber(1), in: 1)
            let append = try #require(delta.statement(in: AppNumber(number)))
            try await app.database.withTransaction { transaction in
                let own: Int64 = try await transaction.execute(Self.transactionID)[0].decode(0)
                _ = try await transaction.execute(append)
                let written = try await transaction.execute(
                    "DELETE FROM message_delta WHERE app_id = \(number) RETURNING transaction_id")
                #expect(try written.map { try $0.decode(0) } == [own])
            }
        }

        private static let transactionID: PostgresStatement = "SELECT pg_current_xact_id()::text::bigint"

        /// Else the transaction would not be tried again.
        @Test func duplicateKey_isRecognised_whenCitusCopiesRowsToANode() async throws {
            let database = try Registry.shared.database
            let error = await #expect(throws: PostgresError.self) {
                try await database.rows(
                    "INSERT INTO rollup_state (app_id) SELECT app FROM unnest('{-1,-1}'::integer[]) AS app")
            }
            #expect(error?.sqlState == "XX000" && error?.isOfCopyToNode == true, "\(error as Any)")
        }

        /// In a registry of its own: a move blocks writes of apps in the same shard for a moment.
        @Test func app_isServedWhereItIsMovedTo() async throws {
            try await withDistributedRegistry { registry, workers in
                let app = try await RegistryApp.make(in: registry)
                for number in 0..<20 { _ = try await app.put("phone-\(number)", as: "alice") }
                let before = try await app.changes("?limit=100") { $0.count == 20 }
                let place = try await command("apps", "move", app.id, "--json", on: registry)
                let nodes = workers.map { "\($0.node.host):\($0.node.port)" }
                let target = try #require(nodes.first { $0 != place["node"].string })
                let moved = try await command("apps", "move", app.id, target, "--json", on: registry)
                #expect(moved["node"].string == target && moved["isAlone"] == true)
                #expect(try await app.put("phone-0", as: "bob").status == 200)
                #expect(try await app.put("new", as: "alice").status == 201)
                let after = try await app.changes("?limit=100") { $0.count > 21 }
                #expect(after.starts(with: before))
                try await app.expectCompleteHistory()
            }
        }

        /// The feed returns no event while an older transaction may still write one.
        @Test func feed_missesNothing_whenTransactionsCommitInTheOtherOrder() async throws {
            let app = try await RegistryApp.make()
            let number = try await app.number()
            let database = app.database
            try await database.withTransaction { first in
                _ = try await first.execute([event("first", of: number)])
                try await database.withTransaction { second in
                    _ = try await second.execute([event("second", of: number)])
                }
                #expect(try await app.registry.send("GET", app.path + "/changes?limit=100").body.isEmpty)
            }
            // The feed waits for older transactions, also for those of other tests.
            try await eventually("the feed has both events") {
                try await app.registry.send("GET", app.path + "/changes?limit=100").body
                    .count { $0 == UInt8(ascii: "\n") } == 2
            }
        }

        private func event(_ installID: String, of app: Int32) -> PostgresStatement {
            """
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, state,
                generation_before, generation_after)
            SELECT pg_current_xact_id()::text::bigint, now(), \(app), \(installID), 'registered', 'new', 'test', 'apns',
                'active', 0, 1
            """
        }

        private func command(_ arguments: String..., on registry: Registry) async throws -> JSON {
            let result = try await RegistryCommand.run(
                arguments + ["--database-url", registry.cluster.connectionString])
            try #require(result.status == 0, "\(result.log)")
            return try JSON(parsing: Array(result.output.utf8))
        }
    }
}

extension PostgresTransaction {
    fileprivate func run(_ text: String) async throws -> PostgresResult {
        try await execute(PostgresStatement(PostgresSQL(trusted: text)).unprepared())
    }
}
