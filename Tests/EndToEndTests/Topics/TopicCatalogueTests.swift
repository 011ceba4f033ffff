import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("An app has a catalogue of topics (fine print 46)")
    struct TopicCatalogueTests {
        @Test func topic_isCreatedReplacedReadListedAndDeleted() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let body: JSON = [
                "name": "Offers", "description": "Near you", "category": "Shopping", "default": "out",
            ]
            let offers: JSON = [
                "topic": "offers", "name": "Offers", "description": "Near you", "category": "Shopping",
                "default": "out", "locked": false,
            ]
            let created = try await app.send("PUT", "/topics/offers", body, by: .role(.marketing))
            #expect(created.status == 201 && created.json == offers)
            #expect(try await app.send("PUT", "/topics/offers", body, by: .role(.admin)).status == 200)
            try await app.putTopic("alarm", isIn: true, isLocked: true)
            let list = try await app.send("GET", "/topics", by: .role(.sender)).json["topics"].array
            #expect(list.map { $0["topic"] } == ["alarm", "offers"] && list.last == offers)
            for reader in [UserJWT.make("ann"), .role(.client), .role(.service), .role(.support), .role(.marketing)] {
                #expect(try await app.send("GET", "/topics/offers", by: reader).json == offers)
            }
            for writer in [UserJWT.make("ann"), .role(.service), .role(.sender), .role(.support)] {
                #expect(try await app.send("PUT", "/topics/offers", body, by: writer).status == 403)
                #expect(try await app.send("DELETE", "/topics/offers", by: writer).status == 403)
            }
            for _ in 0..<2 {
                #expect(try await app.send("DELETE", "/topics/offers", by: .role(.marketing)).status == 204)
            }
            let gone = try await app.send("GET", "/topics/offers", by: .role(.service))
            #expect(gone.status == 404 && gone.code == "unknown-topic")
            let other = try await RegistryApp.make()
            #expect(try await other.send("GET", "/topics", by: .role(.client)).json["topics"] == [])
        }

        @Test(arguments: [
            ("a", #"{"default":"in"}"#, "/name required"), ("a", #"{"name":"","default":"in"}"#, "/name required"),
            ("a", #"{"name":"A"}"#, "/default required"),
            ("a", #"{"name":"A","default":"on"}"#, "/default unknown-value"),
            ("a", #"{"name":"A","default":"out","locked":true}"#, "/default locked-topic-is-out"),
            (
                "a", #"{"name":5,"default":true,"locked":"no"}"#,
                "/name wrong-type,/default wrong-type,/locked wrong-type"
            ),
            ("Offers", #"{"name":"A","default":"in"}"#, "topic invalid-topic"),
        ])
        func put_isRefused_whenItIsInvalid(slug: String, body: String, faults: String) async throws {
            let app = try await RegistryApp.make()
            let response = try await app.send("PUT", "/topics/\(slug)", try JSON(parsing: body.utf8), by: .role(.admin))
            #expect(response.status == 400, "\(response.text)")
            #expect(Set(response.faults) == Set(faults.split(separator: ",").map(String.init)), "\(response.text)")
        }

        @Test func topics_areAtMost1000() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.database.rows(
                """
                INSERT INTO topic (app_id, slug, name, is_in, is_locked)
                SELECT id, 'topic-' || n, 'Topic', true, false FROM app CROSS JOIN generate_series(1, 1000) AS t (n)
                WHERE identifier = \(app.id)
                """)
            let body: JSON = ["name": "One more", "default": "in"]
            let refused = try await app.send("PUT", "/topics/more", body, by: .role(.marketing))
            #expect(refused.status == 409 && refused.code == "too-many-topics")
            #expect(try await app.send("PUT", "/topics/topic-7", body, by: .role(.marketing)).status == 200)
            #expect(try await app.send("GET", "/topics", by: .role(.client)).json["topics"].array.count == 1_000)
        }
    }
}
