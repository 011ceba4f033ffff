import Foundation
import PushRegistryClient

/// A registry with one app: the service, or the in-memory double.
public protocol ConformanceTarget: Sendable {
    var transport: any PushRegistryClient.Transport { get }
    var url: URL { get }
    var app: String { get }
    /// The app's publishable key.
    var key: String { get }

    /// A user's JWT.
    ///
    /// - Parameters:
    ///   - age: how many seconds ago it was issued.
    ///   - life: seconds from now until it expires; negative for an expired JWT.
    func credential(user: String, session: String?, age: Int, life: Int) async throws -> String

    /// Ends a session, as the app's back end.
    func endSession(_ session: String) async throws

    /// Sets how many active installations a user may have.
    func limit(installationsPerUser count: Int) async throws

    /// Creates a topic that is off by default.
    func define(topic: String, locked: Bool) async throws

    /// Stores a notification for a user's installations.
    ///
    /// - Returns: the badge of each push.
    @discardableResult
    func notify(user: String, payload: PushRegistryClient.JSON) async throws -> [Int]
}

extension ConformanceTarget {
    public func credential(user: String, session: String? = nil, age: Int = 0) async throws -> String {
        try await credential(user: user, session: session, age: age, life: 900)
    }
}

/// A promise that the service and the in-memory registry must both keep.
public struct ConformanceCheck: Sendable, CustomStringConvertible {
    public let description: String
    let body: @Sendable (Conversation) async throws -> Void

    init(_ description: String, _ body: @escaping @Sendable (Conversation) async throws -> Void) {
        self.description = description
        self.body = body
    }

    public static let all =
        registration + addresses + refusals + rotations + logout + topics + tokens + notifications + receipts

    /// - Throws: `ConformanceFailure`.
    public func run(on target: some ConformanceTarget) async throws {
        try await body(Conversation(target: target))
    }
}

public struct ConformanceFailure: Error, CustomStringConvertible {
    public let description: String
}

/// Calls one registry, with ids that no other check uses.
struct Conversation: Sendable {
    typealias JSON = PushRegistryClient.JSON
    typealias Response = PushRegistryClient.Response

    let target: any ConformanceTarget
    let id = UUID().uuidString

    /// A token of this check.
    func token(_ name: String = "token") -> String {
        let digits = "\(name)\(id)".utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return String((digits + String(repeating: "0", count: 100)).prefix(100))
    }

    func body(_ id: String, token: String? = nil, model: String = "iPhone17,3", topics: JSON? = nil) -> JSON {
        var body: [String: JSON] = [
            "token": .string(token ?? self.token(id)), "provider": "apns",
            "settings": ["authorizationStatus": "authorized"],
            "device": [
                "installId": .string(id), "deviceModel": .string(model), "systemName": "iOS", "systemVersion": "26.5",
                "locale": "de_DE", "timeZoneId": "Europe/Berlin", "timeZoneOffset": 3600,
            ],
        ]
        body["topics"] = topics
        return .object(body)
    }

    func register(
        _ id: String, _ body: JSON? = nil, by credential: String, _ fields: [String: String] = [:],
        ifMatch: String? = nil
    ) async throws -> Response {
        try await send("PUT", "installations/\(id)", body ?? self.body(id), by: credential, fields, ifMatch: ifMatch)
    }

    func logOut(
        _ id: String, by credential: String, _ fields: [String: String] = [:], ifMatch: String? = nil,
        keepAnonymous: Bool = false
    ) async throws -> Response {
        try await send(
            "POST", "installations/\(id)/logout", ["keepAnonymous": .boolean(keepAnonymous)], by: credential, fields,
            ifMatch: ifMatch)
    }

    func record(_ id: String, by credential: String) async throws -> Response {
        try await send("GET", "installations/\(id)", by: credential)
    }

    func send(
        _ method: String, _ path: String, _ body: JSON? = nil, by credential: String?, _ fields: [String: String] = [:],
        ifMatch: String? = nil
    ) async throws -> Response {
        var fields = fields
        if let ifMatch { fields["If-Match"] = ifMatch }
        return try await send(
            method, target.url.appendingPathComponent("v1/apps/\(target.app)/\(path)"), body, credential, fields)
    }

    func send(
        _ method: String, _ url: URL, _ body: JSON?, _ credential: String?, _ fields: [String: String] = [:]
    ) async throws -> Response {
        var fields = fields
        if let credential { fields["Authorization"] = "Bearer \(credential)" }
        if body != nil { fields["Content-Type"] = "application/json" }
        return try await target.transport.send(
            .init(method, url, fields: fields, body: try body.map { try JSONEncoder().encode($0) }))
    }
}

extension PushRegistryClient.Response {
    var json: PushRegistryClient.JSON {
        (try? JSONDecoder().decode(PushRegistryClient.JSON.self, from: body)) ?? .null
    }

    var code: PushRegistryClient.JSON? { json["code"] }

    var deliveryKey: String {
        get throws {
            guard case .string(let key)? = json["deliveryKey"] else {
                throw ConformanceFailure(description: "no deliveryKey")
            }
            return key
        }
    }
}

/// Fails the check unless the values are equal.
func expect<Value: Equatable>(_ value: Value, _ expected: Value, _ what: String) throws {
    guard value == expected else {
        throw ConformanceFailure(description: "\(what): \(value), expected \(expected)")
    }
}

func expect(_ response: PushRegistryClient.Response, _ status: Int, _ code: String? = nil, _ what: String) throws {
    guard response.status == status, code == nil || response.code == .string(code ?? "") else {
        let text = String(decoding: response.body, as: UTF8.self)
        throw ConformanceFailure(
            description: "\(what): \(response.status) \(text), expected \(status) \(code ?? "")")
    }
}
