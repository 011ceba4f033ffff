import RegistryTestSupport
import Testing

extension EndToEnd {
    @Suite("The service conforms to its OpenAPI description")
    struct DescriptionTests {
        @Test func description_isPublic_andNotModified_withItsTag() async throws {
            let registry = try Registry.shared
            let response = try await registry.send("GET", "/openapi.json", key: nil)
            #expect(response.status == 200)
            #expect(response["Content-Type"] == "application/json")
            #expect(response.json["info"]["version"].string?.firstMatch(of: /^\d+\.\d+\.\d+$/) != nil)
            let tag = try #require(response["ETag"])
            let again = try await registry.send(
                "GET", "/openapi.json", key: nil, fields: [("If-None-Match", "W/\(tag)")])
            #expect(again.status == 304 && again.body.isEmpty && again["ETag"] == tag)
            let other = try await registry.send("GET", "/openapi.json", key: nil, fields: [("If-None-Match", "\"0\"")])
            #expect(other.status == 200)
        }

        /// A caller, by the name of the role or the scheme.
        private func callers(_ app: RegistryApp) -> [(name: String, credential: RegistryApp.Credential)] {
            RegistryApp.Role.allCases.map { ($0.rawValue, .role($0)) } + [
                ("userToken", UserJWT.make("alice")), ("adminKey", .text(RunningService.adminKey)),
            ]
        }

        @Test func call_isRefused_exactlyForRolesThatAreNotDescribed() async throws {
            let calls = try await DescribedCalls(try await RegistryApp.make(policy: UserJWT.policy))
            for operation in calls.document.operations {
                guard let roles = operation.roles else { continue }
                // A policy without keys would make the users' JWTs invalid.
                let body: JSON? = operation.json["requestBody"] == .null ? nil : UserJWT.policy
                #expect(try await calls.call(operation.id, body, by: .none).status == 401, "\(operation)")
                for caller in callers(calls.app) {
                    let response = try await calls.call(operation.id, body, by: caller.credential)
                    let isAllowed = roles.contains(caller.name) || operation.accepts(caller.name)
                    // A logout by the publishable key is refused for lack of a proof, not because of its role. A JWT is
                    // refused in the half minute after a logout or an erasure of its user.
                    let isUnproven = response.text.contains("requires a JWT, or X-Delivery-Key")
                    let hasEnded = response.code == "credential-ended"
                    let isRefused = [401, 403].contains(response.status) && !isUnproven && !hasEnded
                    #expect(
                        isRefused != isAllowed,
                        "\(operation) by \(caller.name): \(response.status)")
                }
            }
        }

        /// Responses that need a fault of the service or a very large request.
        private static let unseen: Set = ["default", "401", "403", "422", "429", "500", "503"]

        @Test func responses_areExactlyTheDescribedOnes() async throws {
            let calls = try await DescribedCalls(try await RegistryApp.make(policy: UserJWT.policy))
            let operations = calls.document.operations
            #expect(Set(DescribedCalls.order) == Set(operations.map(\.id)))
            try await calls.refuseByState()
            try await calls.refuseInAdministrationAndAudiences()
            try await calls.refuseAboutTopics()
            try await calls.refuseAboutTypedTokens()
            for operation in operations where operation.roles != nil || operation.id == "signIn" {
                try await calls.refuseAnywhere(operation)
                try await calls.refuseParameters(operation)
            }
            try await calls.succeedOtherwise()
            try await calls.sendExamples()
            let described = operations.flatMap { operation in
                operation.statuses.subtracting(Self.unseen).map { "\(operation.id) \($0)" }
            }
            let missing = Set(described).subtracting(calls.answered)
            // An app has a thousand segments, topics or keys before that, and a message needs a second to expire.
            #expect(
                missing == [
                    "putSegment 409", "putTopic 409", "createKey 409", "listAudience 409", "exportAudience 409",
                ])
        }
    }
}

extension DescribedCalls {
    /// Successful calls that the examples do not cover.
    fileprivate func succeedOtherwise() async throws {
        let registration = SampleRegistration.make("4F5E2A0C-9D1B-4E7A-8F00-1B2C3D4E5F60")
        #expect(try await call("registerInstallation", registration).status == 200)
        #expect(try await call("getInstallation", by: .role(.client)).status == 200)
        let new = ["app": app.id + ".new"]
        #expect(try await call("putApp", UserJWT.policy, path: new, by: .text(RunningService.adminKey)).status == 201)
        let everybody: JSON = ["filter": [:], "include": "all"]
        for id in ["listAudience", "exportAudience"] {
            #expect(try await call(id, everybody, by: .role(.marketing)).status == 200)
        }
        let names = document.root["components"]["schemas"]["ExportField"]["enum"].array.filter { $0 != "id" }
        let typed: [JSON] = ["environment", "name", "expiresAt"]
        let whole: JSON = ["filter": [:], "include": "all", "fields": .array(names.filter { !typed.contains($0) })]
        #expect(try await call("exportAudience", whole, by: .role(.sender)).status == 200)
        let ofKind: JSON = ["filter": [:], "include": "all", "kind": "voip", "fields": .array(names)]
        #expect(try await call("exportAudience", ofKind, by: .role(.sender)).status == 200)
        #expect(
            try await call("listAudience", ["filter": [:], "kind": "voip"], by: .role(.sender)).status == 200)
        let tag = try await call("getDescription", by: .none)["ETag"] ?? ""
        #expect(try await call("getDescription", by: .none, fields: [("If-None-Match", tag)]).status == 304)
    }
}
