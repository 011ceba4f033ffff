import ClientConformance
import Foundation
import PushRegistryClient
import RegistryTestSupport
import Testing

/// The service as a client's registry, with an app of its own.
struct ServiceTarget: ConformanceTarget {
    let registered: RegistryApp
    let transport: any PushRegistryClient.Transport = PushRegistryClient.URLSessionTransport()
    let url: URL

    static func make() async throws -> ServiceTarget {
        let registered = try await RegistryApp.make(policy: UserJWT.policy)
        let url = try #require(URL(string: "http://127.0.0.1:\(registered.registry.client.port)"))
        return ServiceTarget(registered: registered, url: url)
    }

    var app: String { registered.id }
    var key: String { registered.key(.client) }

    func credential(user: String, session: String?, age: Int, life: Int) async throws -> String {
        try #require(registered.text(of: UserJWT.make(user, session: session, age: age, life: life)))
    }

    func endSession(_ session: String) async throws {
        try await expectSuccess(registered.send("DELETE", "/sessions/\(session)"))
    }

    func define(topic: String, locked: Bool) async throws {
        let body: JSON = ["name": .string(topic), "default": locked ? "in" : "out", "locked": .boolean(locked)]
        try await expectSuccess(registered.send("PUT", "/topics/\(topic)", body, by: .role(.admin)))
    }

    func limit(installationsPerUser count: Int) async throws {
        let policy: JSON = ["installationsPerUser": .integer(Int64(count))]
        try await expectSuccess(registered.send("PATCH", "", policy, by: .role(.admin)))
    }

    @discardableResult
    func notify(user: String, payload: PushRegistryClient.JSON) async throws -> [Int] {
        let body: JSON = [
            "to": ["userId": .string(user)], "payload": try JSON(parsing: JSONEncoder().encode(payload)),
        ]
        let response = try await registered.send("POST", "/notifications", body)
        try expectSuccess(response)
        return response.json["notifications"].array.compactMap { $0["badge"].integer.map(Int.init) }
    }

    private func expectSuccess(_ response: HTTPResponse) throws {
        guard (200..<300).contains(response.status) else { throw UnexpectedResponse(response: response) }
    }

    /// What the service has of an installation.
    func installation(_ id: String) async throws -> JSON {
        try await registered.get(id).json
    }

    /// The installations of a user.
    func installations(of user: String) async throws -> [JSON] {
        try await registered.send("GET", "/users/\(user)/installations").json["installations"].array
    }
}
