import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An app is deleted with all that it has", .separateRegistry)
    struct AppDeletionTests {
        /// Rows that a test might forget are in tables that this list does not have.
        private static let filled: Set<String> = [
            "api_key", "app_signing_key", "audit_entry", "cleanup_result", "deleted_topic", "directory_change",
            "feedback_breaker",
            "installation", "installation_logout", "installation_owner", "message", "notification",
            "notification_counter", "notification_dedup", "receipt", "rollup_cell", "rollup_state", "rollup_text",
            "segment", "segment_topic", "segment_use", "session", "settings_snapshot", "token_event",
            "token_holder", "topic", "typed_token", "user_guard",
        ]

        @Test func nothingIsLeft_andTheIDIsFree_whileInstallationsRegister() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for app in [app, other] { try await fill(app) }
            // Runs of the night job remove it.
            _ = try await database.rows("INSERT INTO deleted_topic (app_id, number) SELECT id, 4711 FROM app")
            let (number, otherNumber) = (try await app.number(), try await other.number())
            let (before, otherBefore) = (try await rows(of: number), try await rows(of: otherNumber))
            #expect(Self.filled.subtracting(before.keys) == [])

            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<8 {
                    group.addTask {
                        for number in 0..<1_000 {
                            let response = try await app.put("late-\(client)-\(number)", by: .role(.client))
                            if response.status == 401 { return }
                            #expect([200, 201, 404, 503].contains(response.status), "\(response.text)")
                        }
                    }
                }
                try await delete(app)
                try await group.waitForAll()
            }
            try await waitForEnd(of: app)
            #expect(try await rows(of: number) == [:])
            #expect(try await database.count("SELECT count(*) FROM app WHERE id = \(number)") == 0)
            let otherAfter = try await rows(of: otherNumber)
            #expect(otherAfter["installation"] == otherBefore["installation"])
            #expect(Set(otherAfter.keys).isSuperset(of: Self.filled))
            #expect(try await app.registry.send("GET", app.path).code == "unknown-app")
            #expect(try await delete(app, isMissing: true).status == 404)

            let again = try await app.registry.send("PUT", app.path)
            #expect(again.status == 201)
            let count = try await app.registry.send(
                "POST", app.path + "/audience/count", ["filter": [:], "include": "all"])
            #expect(count.json["count"] == 0)
            #expect(try await app.registry.send("GET", app.path + "/keys").json["keys"] == [])
            #expect(try await app.registry.send("GET", app.path + "/changes").body == [])
        }

        /// The work waits for a lock, as if another process were at it.
        @Test func app_doesNotExist_whileItIsDeleted() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let number = try await app.number()
            try await database.withTransaction { holder in
                _ = try await holder.execute(
                    "SELECT pg_advisory_xact_lock(hashtext('push-registry: deletion'), \(number))")
                let first = try await delete(app)
                #expect(first.json["deleting"]["installationsLeft"] == 1)
                #expect(try await delete(app).json == first.json)
                let shown = try await app.registry.send("GET", app.path)
                #expect(shown.status == 200 && shown.json == first.json)
                for (method, rest) in [
                    ("PUT", ""), ("PATCH", ""), ("GET", "/keys"), ("POST", "/keys"), ("GET", "/installations/phone"),
                    ("GET", "/changes"), ("PUT", "/topics/news"), ("DELETE", "/users/alice"), ("GET", "/segments"),
                ] {
                    let body: JSON? = ["GET", "DELETE"].contains(method) ? nil : [:]
                    let response = try await app.registry.send(method, app.path + rest, body)
                    #expect(response.code == "unknown-app", "\(method) \(rest) \(response.text)")
                }
                let list = try await app.registry.send("GET", "/v1/apps").json
                #expect(!list["apps"].array.contains { $0["app"].string == app.id })
                for role in RegistryApp.Role.allCases {
                    #expect(try await app.get("phone", by: .role(role)).status == 401)
                }
            }
            try await waitForEnd(of: app)
        }

        @Test func deletion_needsTheAdminKey_andTheNameAgain() async throws {
            let (app, other) = (try await RegistryApp.make(), try await RegistryApp.make())
            for role in RegistryApp.Role.allCases {
                let confirmed = "?confirm=\(app.id)"
                #expect(try await app.send("DELETE", confirmed, by: .role(role)).status == 403)
                #expect(try await app.send("DELETE", confirmed, by: .text(other.key(role))).code == "unknown-app")
            }
            for query in ["", "?confirm=", "?confirm=\(other.id)", "?confirm=\(app.id)&confirm=\(app.id)"] {
                let response = try await app.registry.send("DELETE", app.path + query)
                #expect(response.status == 400 && response.json["errors"][0]["parameter"] == "confirm", "\(query)")
            }
            #expect(try await app.registry.send("GET", app.path).json["deleting"] == .null)
            _ = try await database.rows("UPDATE app SET policy = '{\"grace\": \"never\"}' WHERE identifier = \(app.id)")
            try await delete(app)
            try await waitForEnd(of: app)
        }

        @Test func command_deletesTheApp_ifTheNameIsConfirmed() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            for refused in [[], ["--confirm", "com.example.other"]] {
                let run = try await Registry.shared.run(["apps", "delete", app.id] + refused)
                #expect(run.status == 64 && run.log.contains("Nothing was deleted."), "\(run.log)")
            }
            let run = try await Registry.shared.run(["apps", "delete", app.id, "--confirm", app.id, "--json"])
            #expect(run.status == 0, "\(run.log)")
            #expect(try JSON(parsing: run.output.utf8) == ["app": .string(app.id), "installations": 1])
            #expect(try await database.count("SELECT count(*) FROM app WHERE identifier = \(app.id)") == 0)
            let again = try await Registry.shared.run(["apps", "delete", app.id, "--confirm", app.id])
            #expect(again.status == 64 && again.log.contains("does not exist"))
        }

        private var database: TestDatabase { get throws { try Registry.shared.database } }

        @discardableResult
        private func delete(_ app: RegistryApp, isMissing: Bool = false) async throws -> HTTPResponse {
            let response = try await app.registry.send("DELETE", app.path + "?confirm=\(app.id)")
            #expect(response.status == (isMissing ? 404 : 202), "\(response.text)")
            return response
        }

        private func waitForEnd(of app: RegistryApp) async throws {
            try await eventually("the app is gone") {
                try await app.registry.send("GET", app.path).status == 404
            }
        }

        /// The rows of an app in each table that has some: of all tables with a column for the app.
        private func rows(of number: Int32) async throws -> [String: Int] {
            let tables: [String] = try await database.column(
                """
                SELECT c.table_name::text FROM information_schema.columns c
                    JOIN pg_class t ON t.oid = c.table_name::regclass
                WHERE c.table_schema = 'public' AND c.column_name = 'app_id' AND t.relkind IN ('r', 'p')
                    AND NOT t.relispartition
                """)
            var rows: [String: Int] = [:]
            for table in tables {
                let count = try await database.count(
                    PostgresStatement(
                        "SELECT count(*) FROM \(identifier: table) WHERE app_id = \(number)"
                    ).unprepared())
                if count > 0 { rows[table] = count }
            }
            return rows
        }

        /// Something of everything that an app may have.
        private func fill(_ app: RegistryApp) async throws {
            for topic in ["news", "offers", "old"] { try await app.putTopic(topic, isIn: true) }
            for number in 0..<20 {
                let id = "phone-\(number)"
                _ = try await app.put(id, as: "user-\(number)", session: "session-\(number)")
                var changed = SampleRegistration.make(id)
                changed["device"]["appVersion"] = "2.0"
                changed["tokens"] = [["kind": "voip", "token": .string(SampleRegistration.token("voip \(number)"))]]
                _ = try await app.put(id, changed, as: "user-\(number)", session: "session-\(number)")
            }
            _ = try await app.choose(["news": "out", "old": "out"], on: "phone-1")
            _ = try await app.choose(["offers": "out"], user: "user-2")
            _ = try await app.send("DELETE", "/topics/old", by: .role(.marketing))
            for (name, filter): (String, JSON) in [
                ("german", ["locale": "de"]), ("readers", ["all": [["topic": "news"], ["segment": "german"]]]),
            ] {
                let response = try await app.send("PUT", "/segments/\(name)", ["filter": filter], by: .role(.marketing))
                #expect(response.status == 201, "\(response.text)")
            }
            _ = try await app.send("PUT", "/messages/spring", ["record": true], by: .role(.sender))
            let targets = try await app.send(
                "POST", "/audience/installations", ["filter": [:], "message": "spring"], by: .role(.sender))
            #expect(targets.status == 200, "\(targets.text)")
            let post = try await app.post(
                to: ["installId": "phone-3"], ["text": "hello"], ["dedupId": "d", "ttl": "P1D"])
            #expect(post.status == 200, "\(post.text)")
            _ = try await app.send(
                "POST", "/feedback", [["installId": "phone-4", "reason": "Unregistered", "provider": "apns"]])
            _ = try await app.send("POST", "/installations/phone-5/logout")
            _ = try await app.send("POST", "/users/user-6/logout")
            _ = try await app.send("DELETE", "/users/user-7")
            let night = try await Registry.shared.run(["cleanup", "--app", app.id])
            #expect(night.status == 0, "\(night.log)")
        }
    }
}
