import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("Only its owner fetches a notification (fine print 61, 64 to 68, 79, 104, 107)")
    struct NotificationOwnerTests {
        @Test func deliveryKey_isTheSame_whileTheEpochLasts() async throws {
            let app = try await RegistryApp.make()
            let created = try await app.put("phone", as: "alice", session: "1").json
            let unchanged = try await app.put("phone", as: "alice", session: "1").json
            let rotated = SampleRegistration.make("phone", token: SampleRegistration.token("rotated"))
            let updated = try await app.put("phone", rotated, as: "alice", session: "2").json
            #expect(unchanged["status"] == "unchanged" && updated["status"] == "updated")
            for member in ["epoch", "deliveryKey"] {
                #expect(created[member].string != nil)
                #expect(created[member] == unchanged[member] && created[member] == updated[member])
            }
        }

        @Test func everyChangeOfTheOwner_endsTheEpoch_andDeletesNotifications() async throws {
            let app = try await RegistryApp.make()
            for (number, user) in ["alice", nil, "alice", "bob"].enumerated() {
                let key = try await app.phone(as: user)
                let posted = try await app.post(toPhone: "phone", "for \(user ?? "nobody")", ["dedupId": "d"])
                #expect(posted["number"] == 1 && posted["previous"] == 0, "change \(number)")
                #expect(try await app.fetch("phone", by: key).numbers == [1])
            }
            // A counter, a notification and a remembered post of the present epoch.
            #expect(try await app.notificationRows() == 3)
        }

        @Test func formerDeliveryKey_isRefused_andReturnsNothing() async throws {
            let app = try await RegistryApp.make()
            let alice = try await app.phone(as: "alice")
            try await app.phone(as: "bob")
            try await app.post(toPhone: "phone")
            let refused = try await app.fetch("phone", by: alice)
            #expect(refused.status == 401 && refused.json["epoch"] == .null)
        }

        @Test func formerEpoch_isGone_andTheResponseNamesThePresentOne() async throws {
            let app = try await RegistryApp.make()
            let old = try await app.put("phone", as: "alice").json["epoch"].string
            let present = try await app.put("phone", as: "bob").json
            let bob = RegistryApp.Credential.text(present["deliveryKey"].string ?? "")
            try await app.post(toPhone: "phone")
            let gone = try await app.fetch("phone", after: 1, epoch: old, by: bob)
            #expect(gone.status == 410 && gone.json["epoch"] == present["epoch"])
            #expect(gone.json["first"] == 1 && gone.json["last"] == 1)
            #expect(try await app.fetch("phone", epoch: present["epoch"].string, by: bob).numbers == [1])
            #expect(try await app.fetch("phone", after: 2, by: bob).status == 410, "a number of a lost database")
        }

        @Test(arguments: [false, true]) func logout_deletesNotifications(_ keepsAnonymous: Bool) async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone(as: "alice")
            try await app.post(toPhone: "phone", 1, ["dedupId": "d"])
            let response = try await app.send(
                "POST", "/installations/phone/logout", ["keepAnonymous": .boolean(keepsAnonymous)])
            #expect(response.json["status"] == "loggedOut")
            #expect(try await app.notificationRows() == 0)
            #expect(try await app.fetch("phone", by: key).status == 401)
        }

        @Test func takeover_deletion_andEndOfTheSession_deleteNotifications() async throws {
            let app = try await RegistryApp.make()
            for phone in ["taken", "deleted", "ended", "everywhere"] {
                try await app.phone(phone, as: phone, session: phone)
                try await app.post(toPhone: phone, 1, ["dedupId": "d"])
            }
            let thief = try await app.put("thief", as: "bob").json
            let stolen = try await app.put(
                "thief", SampleRegistration.make("thief", token: SampleRegistration.token("taken")), as: "bob"
            ).json
            #expect(stolen["deliveryKey"] == thief["deliveryKey"] && stolen["epoch"] == thief["epoch"])
            _ = try await app.delete("deleted")
            _ = try await app.send("DELETE", "/sessions/ended")
            _ = try await app.send("POST", "/users/everywhere/logout", [:])
            #expect(try await app.notificationRows() == 0)
        }

        @Test func erasure_countsDeletedNotifications() async throws {
            let app = try await RegistryApp.make()
            for phone in ["one", "two"] { try await app.phone(phone, as: "alice") }
            try await app.phone("other", as: "bob")
            for _ in 0..<3 { _ = try await app.post(to: ["userIds": ["alice", "bob"]]) }
            let receipt = try await app.send("DELETE", "/users/alice")
            #expect(receipt.json["notifications"] == 6)
            #expect(try await app.send("DELETE", "/users/alice").json["notifications"] == 0)
            #expect(try await app.notificationRows() == 4)
        }

        @Test func reactivation_keepsTheEpoch() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone(as: "alice")
            try await app.post(toPhone: "phone")
            _ = try await app.send("POST", "/feedback", [["installId": "phone", "reason": "BadDeviceToken"]])
            #expect(try await app.post(to: ["installId": "phone"]).json["notifications"] == [])
            try await app.phone(as: "alice")
            #expect(try await app.fetch("phone", by: key).numbers == [1])
        }

        @Test func deliveryKey_isRefused_fromTheSessionsExpiry_untilTheOwnerRegisters() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone(as: "alice", session: "s")
            try await app.post(toPhone: "phone")
            try await app.update("phone", "session_expires_at = now() - interval '1 second'")
            #expect(try await app.fetch("phone", by: key).status == 401)
            #expect(try await app.post(to: ["installId": "phone"]).json["notifications"] == [])
            try await app.phone(as: "alice", session: "s2")
            #expect(try await app.fetch("phone", by: key).numbers == [1])
        }

        @Test func deliveryKey_isRefused_onOtherCalls() async throws {
            let app = try await RegistryApp.make()
            let key = try await app.phone("mine")
            try await app.phone("other")
            let calls: [(String, String, JSON?)] = [
                ("GET", "/installations/other/notifications", nil), ("GET", "/installations/mine", nil),
                ("PUT", "/installations/mine", SampleRegistration.make("mine")), ("DELETE", "/installations/mine", nil),
                ("POST", "/notifications", ["to": ["installId": "mine"], "payload": 1]),
                ("GET", "/installations/nothing/notifications", nil), ("POST", "/installations/mine/logout", [:]),
            ]
            for (method, path, body) in calls {
                #expect(try await app.send(method, path, body, by: key).status == 401, "\(method) \(path)")
            }
            let neighbour = try await RegistryApp.make(in: app.registry)
            try await neighbour.phone("mine")
            #expect(try await neighbour.fetch("mine", by: key).status == 401)
        }

        @Test func onlyTheInstallationsOwnCredentials_acknowledge() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            try await app.phone("hers", as: "alice")
            try await app.phone("nobodys")
            for phone in ["hers", "nobodys"] { try await app.post(toPhone: phone) }
            for role in [RegistryApp.Role.service, .admin] {
                #expect(try await app.fetch("hers", after: 1, by: .role(role)).status == 200)
            }
            let mine = UserJWT.make("alice")
            #expect(try await app.fetch("hers", after: 1, method: "HEAD", by: mine).status == 200)
            #expect(try await app.fetch("hers", after: 1, epoch: "other", by: mine).status == 410)
            #expect(try await app.fetch("hers", by: mine).numbers == [1])
            #expect(try await app.fetch("hers", after: 1, by: mine).status == 200)
            #expect(try await app.fetch("hers", by: mine).numbers.isEmpty)
            #expect(try await app.fetch("nobodys", after: 1, by: .role(.client)).status == 200)
            #expect(try await app.fetch("nobodys", by: .role(.service)).numbers.isEmpty)
        }

        @Test func strangers_areRefused() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            try await app.phone(as: "alice")
            try await app.post(toPhone: "phone")
            for role in [RegistryApp.Role.sender, .marketing, .support] {
                #expect(try await app.fetch("phone", by: .role(role)).status == 403, "\(role)")
            }
            for role in [RegistryApp.Role.client, .marketing, .support] {
                #expect(try await app.post(to: ["installId": "phone"], by: .role(role)).status == 403, "\(role)")
            }
            #expect(try await app.fetch("phone", by: UserJWT.make("bob")).status == 404)
            #expect(try await app.fetch("phone", by: .role(.client)).status == 404)
            #expect(try await app.fetch("phone", by: .none).status == 401)
            #expect(try await app.fetch("nothing", by: .role(.service)).status == 404)
        }

        @Test func endedCredential_fetchesNothing() async throws {
            let app = try await RegistryApp.make(policy: UserJWT.policy)
            let old = UserJWT.make("alice", session: "s", age: 5)
            _ = try await app.put("phone", by: old)
            _ = try await app.send("DELETE", "/sessions/s")
            _ = try await app.put("phone", by: UserJWT.make("alice", session: "s2"))
            try await app.post(toPhone: "phone")
            #expect(try await app.fetch("phone", after: 1, by: old).status == 401)
            #expect(try await app.fetch("phone", by: .role(.service)).numbers == [1])
        }
    }
}
