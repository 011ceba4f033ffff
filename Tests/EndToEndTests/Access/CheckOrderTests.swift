import RegistryTestSupport
import Testing

extension EndToEnd {
    /// Route, method, credential, app, role, size, type, body, resource, precondition.
    @Suite("Faults are checked in a fixed order (fine print 42)")
    struct CheckOrderTests {
        private func put(
            _ app: RegistryApp, key: String?, path: String? = nil, fields: [(String, String)] = [],
            body: String = "{"
        ) async throws -> HTTPResponse {
            var request = HTTPRequest.make("PUT", path ?? "\(app.path)/installations/phone", key: key, fields: fields)
            request.body = Array(body.utf8)
            return try await app.registry.client.response(to: request)
        }

        private let large = String(repeating: " ", count: 64 * 1024 + 1)
        private let plain = [("Content-Type", "text/plain")]

        @Test func unknownRoute_isA404_beforeAnythingElse() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, key: nil, path: "\(app.path)/nothing", body: large)
            #expect(response.status == 404)
            #expect(response.code == "not-found")
        }

        @Test func wrongMethod_isA405WithAllow_beforeTheCredential() async throws {
            let app = try await RegistryApp.make()
            let response = try await app.send("PATCH", "/installations/phone", by: .none)
            #expect(response.status == 405)
            #expect(response.code == "method-not-allowed")
            let allow = Set((response["Allow"] ?? "").split(separator: ",").map { $0.drop { $0 == " " } })
            #expect(allow.isSuperset(of: ["GET", "PUT", "DELETE"]))
            #expect(!allow.contains("PATCH"))
        }

        @Test func missingCredential_isA401_beforeTheUnknownApp() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, key: nil, path: "/v1/apps/nobody/installations/phone")
            #expect(response.status == 401)
        }

        @Test func unknownApp_isA404_beforeTheRole() async throws {
            let app = try await RegistryApp.make()
            let path = "/v1/apps/nobody/installations/phone"
            #expect(try await put(app, key: app.key(.marketing), path: path).code == "unknown-app")
        }

        @Test func wrongRole_isA403_beforeSizeTypeAndBody() async throws {
            let app = try await RegistryApp.make()
            #expect(try await put(app, key: app.key(.marketing), fields: plain).status == 403)
            #expect(try await put(app, key: app.key(.marketing), body: large).status == 403)
        }

        @Test func tooLargeBody_isA413_beforeTheType() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, key: app.key(.service), fields: plain, body: large)
            #expect(response.status == 413)
            #expect(response.code == "body-too-large")
        }

        @Test func wrongType_isA415_beforeTheBodyAndTheHeaders() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, key: app.key(.service), fields: plain)
            #expect(response.status == 415)
            #expect(response.code == "unsupported-media-type")
            let withBadHeader = try await put(app, key: app.key(.service), fields: plain + [("X-User-Id", "")])
            #expect(withBadHeader.status == 415)
        }

        @Test func badBody_isA400_beforeThePrecondition() async throws {
            let app = try await RegistryApp.make()
            let response = try await put(app, key: app.key(.service), fields: [("If-Match", "\"1\"")])
            #expect(response.status == 400)
        }

        @Test func unknownResource_isA404_beforeThePrecondition() async throws {
            let app = try await RegistryApp.make()
            _ = try await app.put("phone", as: "alice")
            #expect(try await app.delete("phone", ifMatch: "\"1\"", by: .role(.client)).status == 404)
            #expect(try await app.delete("phone", ifMatch: "\"1\"").status == 412)
        }

        @Test(arguments: [
            nil, "application/json", "application/json; charset=utf-8", "Application/JSON ;charset=\"utf-8\"",
        ])
        func jsonTypes_areAccepted_andAMissingOne(type: String?) async throws {
            let app = try await RegistryApp.make()
            let response = try await put(
                app, key: app.key(.service), fields: type.map { [("Content-Type", $0)] } ?? [],
                body: SampleRegistration.make("phone").text)
            #expect(response.status == 201)
        }

        @Test func largestBody_isAccepted_whenItIsExactlyAtTheLimit() async throws {
            let app = try await RegistryApp.make()
            let text = SampleRegistration.make("phone").text
            let padded = text + String(repeating: " ", count: 64 * 1024 - text.utf8.count)
            #expect(try await put(app, key: app.key(.service), body: padded).status == 201)
        }
    }
}
