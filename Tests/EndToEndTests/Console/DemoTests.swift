import EmbeddedPostgres
import Foundation
import Glibc
import RegistryTestSupport
import Testing

@Suite("A first visitor of the demo is signed in by a link", .serialized, .timeLimit(.minutes(30)))
struct DemoTests {
    private static let path = "/console/v1/apps/com.example.fleet"

    /// Starts the demo, and waits for its link.
    private func withDemo(_ folder: String, _ body: (_ registry: HTTPClient, _ code: String) async throws -> Void)
        async throws
    {
        let command = try RegistryCommand(["serve", "--demo", "--listen", "127.0.0.1:0", "--data-dir", folder])
        defer { command.send(SIGKILL) }
        var found: (port: UInt16, code: String)?
        try await eventually("the link is printed", within: .seconds(150)) {
            guard command.isRunning else { throw DemoEnded(log: command.log) }
            let link = command.output.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\/console\/#code=([0-9a-f]{64})\n/)
            found = link.flatMap { link in UInt16(link.1).map { ($0, String(link.2)) } }
            return found != nil
        }
        let (port, code) = try #require(found)
        #expect(!command.log.contains(code))
        try await body(HTTPClient(port: port), code)
        command.send(SIGTERM)
        #expect(try await command.exitStatus() == 0)
    }

    private func send(
        _ client: HTTPClient, _ method: String, _ path: String, _ body: JSON? = nil, cookie: String? = nil,
        fields: [(String, String)] = []
    ) async throws -> HTTPResponse {
        let all = ConsoleVisitor.ownPage + fields + (cookie.map { [("Cookie", $0)] } ?? [])
        return try await client.response(to: .make(method, path, body, key: nil, fields: all))
    }

    /// - Returns: the cookie.
    private func signIn(_ client: HTTPClient, _ code: String) async throws -> String {
        let response = try await send(client, "POST", "/console/v1/session", ["code": .string(code)])
        #expect(response.status == 200 && response.json["app"] == "com.example.fleet", "\(response.text)")
        return String(try #require(response["Set-Cookie"]).prefix { $0 != ";" })
    }

    @Test func link_signsInOnce_toAFleetThatIsFilledOnce() async throws {
        let folder = "/tmp/push-registry-demo-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let everybody: JSON = ["filter": [:], "include": "all"]
        try await withDemo(folder) { client, code in
            let forged: JSON = ["code": .string(String(code.reversed()))]
            #expect(try await send(client, "POST", "/console/v1/session", forged).status == 401)
            let cookie = try await signIn(client, code)
            let again = try await send(client, "POST", "/console/v1/session", ["code": .string(code)])
            #expect(again.status == 401 && again.code == "invalid-credential")
            let count = try await send(client, "POST", Self.path + "/audience/count", everybody, cookie: cookie)
            #expect(count.json["count"] == 20_000)
            let message = try await send(client, "GET", Self.path + "/messages/spring-sale", cookie: cookie).json
            #expect(message["targeted"] == 3_000)
            for member in ["accepted", "delivered", "opened"] {
                #expect((message[member].integer ?? 0) > 0, "\(member)")
            }
            let names = try await send(client, "GET", Self.path + "/segments", cookie: cookie).json["segments"].array
            #expect(names.count == 2)
            let topics = try await send(client, "GET", Self.path + "/topics", cookie: cookie).json["topics"].array
            #expect(topics.count == 3)
            let runs = try await send(client, "GET", "/console/v1/cleanup/runs", cookie: cookie).json["runs"].array
            #expect(runs.map { $0["outcome"] } == ["done", "refused"])
        }
        try await withDemo(folder) { client, code in
            let cookie = try await signIn(client, code)
            let count = try await send(client, "POST", Self.path + "/audience/count", everybody, cookie: cookie)
            #expect(count.json["count"] == 20_000)
            let runs = try await send(client, "GET", "/console/v1/cleanup/runs", cookie: cookie).json["runs"].array
            #expect(runs.count == 2)
        }
    }
}

private struct DemoEnded: Error {
    let log: String
}
