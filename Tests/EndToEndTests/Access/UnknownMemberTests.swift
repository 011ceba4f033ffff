import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("A member that does not exist is a fault of every call that back ends make (fine print 43)")
    struct UnknownMemberTests {
        @Test(
            arguments: [
                ("POST", "/keys", ["name": "x", "roles": ["sender"], "expires": "2027-01-01"], "/expires", .admin),
                ("PUT", "/messages/sale", ["title": "Sale", "recorded": true], "/recorded", .sender),
                (
                    "POST", "/notifications", ["to": ["installId": "phone"], "payload": [:], "dedupeId": "a"],
                    "/dedupeId", .sender
                ),
                (
                    "POST", "/notifications", ["to": ["installId": "phone", "user": "a"], "payload": [:]], "/to/user",
                    .sender
                ),
                ("PUT", "/topics/news", ["name": "News", "default": "in", "lock": true], "/lock", .marketing),
                ("PATCH", "/installations/phone/topics", ["topics": [:], "topic": [:]], "/topic", .service),
                ("PATCH", "/users/alice/topics", ["topics": [:], "topic": [:]], "/topic", .service),
            ] as [(String, String, JSON, String, RegistryApp.Role)])
        func call_isRefused(
            method: String, path: String, body: JSON, pointer: String, role: RegistryApp.Role
        ) async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            let response = try await app.send(method, path, body, by: .role(role))
            #expect(response.status == 400)
            #expect(response.faults == ["\(pointer) unknown-member"], "\(response.text)")
        }

        @Test func item_isInvalid_andTheOthersCount() async throws {
            let app = try await RegistryApp.make()
            let phone = try await app.put("phone", as: "alice")
            #expect(phone.status == 201)
            let verdicts: JSON = [
                ["installId": "phone", "reason": "Unregistered", "time": 1_700_000_000_000],
                ["installId": "nobody", "reason": "Unregistered"],
            ]
            let response = try await app.send("POST", "/feedback", verdicts, by: .role(.sender))
            #expect(response.json["received"].integer == 2 && response.json["invalid"].integer == 1)
            let fault = response.json["errors"].array.first
            #expect(fault?["index"].integer == 0 && fault?["pointer"] == "/time", "\(response.text)")
            #expect(try await app.get("phone").json["state"] == "active")
        }

        @Test func addresseeWithoutAName_isMissing_andNotAmbiguous() async throws {
            let app = try await RegistryApp.make()
            let body: JSON = ["to": ["users": ["alice"]], "payload": [:]]
            let response = try await app.send("POST", "/notifications", body, by: .role(.sender))
            #expect(response.faults == ["/to/users unknown-member", "/to required"], "\(response.text)")
            #expect(response.text.contains("userIds"))
        }
    }
}
