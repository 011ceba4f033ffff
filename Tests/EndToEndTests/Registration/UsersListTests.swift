import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A back end lists the installations of many users in one call (fine print 20)")
    struct UsersListTests {
        private func list(_ users: JSON, in app: RegistryApp, by role: RegistryApp.Role = .sender) async throws
            -> HTTPResponse
        {
            try await app.send("POST", "/users/installations", ["userIds": users], by: .role(role))
        }

        @Test func users_haveTheRecordsOfTheirOwnLists() async throws {
            let app = try await RegistryApp.make()
            for (phone, user) in [("b", "bob"), ("a2", "alice"), ("a1", "alice"), ("c", "carol")] {
                #expect(try await app.put(phone, as: user).status == 201)
            }
            for role in [RegistryApp.Role.sender, .service] {
                let response = try await list(["bob", "nobody", "alice", "bob"], in: app, by: role)
                #expect(response.status == 200)
                var expected: [String: JSON] = [:]
                for user in ["alice", "bob", "nobody"] {
                    expected[user] = try await app.send(
                        "GET", "/users/\(user)/installations", by: .role(role)
                    ).json["installations"]
                }
                #expect(response.json == ["users": .object(expected)], "\(response.text)")
                #expect(expected["alice"]?.array.map { $0["installId"] } == ["a1", "a2"])
                #expect(expected["nobody"] == [])
            }
            #expect(try await list([], in: app).json == ["users": [:]])
            #expect(try await list(["nobody"], in: app).json == ["users": ["nobody": []]])
        }

        /// More than two pages of one user, between users with one each.
        @Test func users_haveAnyNumberOfInstallations() async throws {
            let app = try await RegistryApp.make()
            for (phone, user) in [("x", "alice"), ("y", "zoe")] { _ = try await app.put(phone, as: user) }
            let kiosks = (0..<1_203).map { "kiosk-\(1_000 + $0)" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for part in 0..<16 {
                    group.addTask {
                        for number in stride(from: part, to: kiosks.count, by: 16) {
                            _ = try await app.put(kiosks[number], as: "kiosk")
                        }
                    }
                }
                try await group.waitForAll()
            }
            let users = try await list(["zoe", "m", "kiosk", "alice"], in: app).json["users"]
            #expect(users["kiosk"].array.compactMap { $0["installId"].string } == kiosks)
            #expect(users["alice"].array.count == 1 && users["zoe"].array.count == 1 && users["m"] == [])
        }

        @Test func call_isRefused_whenItIsInvalid() async throws {
            let app = try await RegistryApp.make()
            let many = JSON.array((0...1_000).map { .string("user-\($0)") })
            #expect(try await list(many, in: app).faults == ["/userIds too-many"])
            let bad = try await list(["alice", "", 5, "a b"], in: app)
            #expect(
                bad.faults == ["/userIds/1 invalid-user-id", "/userIds/2 wrong-type", "/userIds/3 invalid-user-id"])
            let other = try await app.send("POST", "/users/installations", ["userId": ["a"]], by: .role(.service))
            #expect(other.faults == ["/userId unknown-member", "/userIds required"])
            for role in [RegistryApp.Role.client, .marketing, .support] {
                #expect(try await list(["alice"], in: app, by: role).status == 403)
            }
        }

        /// The call's path is also that of a user with this name.
        @Test func userNamedInstallations_isErased_asAnyOther() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "installations")
            let receipt = try await app.send("DELETE", "/users/installations")
            #expect(receipt.status == 200 && receipt.json["installations"] == 1)
            let other = try await app.send("PUT", "/users/installations", [:])
            #expect(other.status == 405 && other["Allow"] == "OPTIONS, POST")
        }
    }
}
