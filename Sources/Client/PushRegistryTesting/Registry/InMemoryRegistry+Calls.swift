import Foundation
import PushRegistryClient

extension InMemoryRegistry {
    /// The claims of a user's credential.
    struct UserToken: Codable {
        var sub: String
        var sid: String?
        var iat: Int64
        var exp: Int64

        /// A JWT. Its signature is a constant, because nobody attacks a registry of tests.
        var text: String {
            let header = Data(#"{"alg":"none"}"#.utf8)
            let claims = (try? JSONEncoder().encode(self)) ?? Data()
            return [header, claims, Data("double".utf8)].map(\.base64URL).joined(separator: ".")
        }

        init(sub: String, sid: String?, iat: Int64, exp: Int64) {
            (self.sub, self.sid, self.iat, self.exp) = (sub, sid, iat, exp)
        }

        init?(_ text: String) {
            let parts = text.split(separator: ".")
            guard parts.count == 3, parts[2] == Data("double".utf8).base64URL, let claims = Data(base64URL: parts[1]),
                let token = try? JSONDecoder().decode(Self.self, from: claims)
            else { return nil }
            self = token
        }
    }

    enum Caller {
        case user(UserToken)
        /// The publishable key.
        case nobody

        var owner: Owner? {
            if case .user(let token) = self { Owner(user: token.sub, session: token.sid) } else { nil }
        }
    }

    struct Call {
        let request: Request
        let installID: String
        /// The parts of the path after the installation.
        let rest: [String]

        var credential: String? {
            let field = request.fields["Authorization"] ?? ""
            return field.hasPrefix("Bearer ") ? String(field.dropFirst(7)) : nil
        }

        var deliveryKey: String? { request.fields["X-Delivery-Key"] }

        func json() throws(Refusal) -> JSON {
            guard let body = request.body, let value = try? JSONDecoder().decode(JSON.self, from: body) else {
                throw Refusal(400, "malformed-json")
            }
            return value
        }

        func query(_ name: String) -> String? {
            URLComponents(url: request.url, resolvingAgainstBaseURL: true)?.queryItems?.first { $0.name == name }?.value
        }
    }

    /// A problem document.
    struct Refusal: Error {
        var status: Int
        var code: String
        var members: [String: JSON] = [:]
        var eTag: String?

        init(_ status: Int, _ code: String, _ members: [String: JSON] = [:], eTag: String? = nil) {
            (self.status, self.code, self.members, self.eTag) = (status, code, members, eTag)
        }

        var response: Response {
            let base: [String: JSON] = [
                "status": .integer(Int64(status)), "code": .string(code), "title": .string(code),
            ]
            var fields = ["content-type": "application/problem+json"]
            if let eTag { fields["etag"] = eTag }
            return .json(.object(base.merging(members) { $1 }), status: status, fields: fields)
        }
    }

    /// The caller. A logout accepts a credential up to `lateness` seconds after its expiry, and one of an ended
    /// session.
    func caller(_ call: Call, app: String, lateness: Int64 = 0) throws(Refusal) -> Caller {
        guard let credential = call.credential else { throw Refusal(401, "missing-credential") }
        if credential == key {
            guard app == self.app else { throw Refusal(404, "unknown-app") }
            return .nobody
        }
        guard let token = UserToken(credential), app == self.app,
            token.exp + lateness > Int64(clock.now.timeIntervalSince1970)
        else { throw Refusal(401, "invalid-credential") }
        let registers = call.request.method == "PUT" && call.rest.isEmpty
        if lateness == 0, !registers, endings.contains(token) { throw Refusal(401, "credential-ended") }
        return .user(token)
    }
}

extension PushRegistryClient.Response {
    static func json(
        _ value: PushRegistryClient.JSON, status: Int = 200, fields: [String: String] = [:]
    ) -> Self {
        Self(status: status, fields: fields, body: (try? JSONEncoder().encode(value)) ?? Data())
    }
}

extension PushRegistryClient.JSON {
    init(_ text: String?) {
        self = text.map { .string($0) } ?? .null
    }

    var string: String? { if case .string(let text) = self { text } else { nil } }

    var members: [String: Self] { if case .object(let members) = self { members } else { [:] } }
}

extension Data {
    fileprivate var base64URL: String {
        base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    fileprivate init?(base64URL text: some StringProtocol) {
        let standard = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
    }
}
