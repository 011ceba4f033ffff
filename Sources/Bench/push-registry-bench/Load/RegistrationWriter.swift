import FleetGenerator
import PushRegistry
import StrictJSON

/// Creates the requests that the app's back end sends for its users' installations.
struct RegistrationWriter: Sendable {
    let app: AppID
    /// A key with the role `service`.
    let key: String

    /// - Parameter tokens: the kinds of the typed tokens.
    func request(
        _ installation: FleetInstallation, settings: NotificationSettings? = nil, tokens kinds: [String] = []
    ) -> [UInt8] {
        let path = "/installations/\(installation.installID)"
        return request("PUT", path, installation.body(settings: settings, tokens: kinds), for: installation.owner)
    }

    /// For the user of the JWT that stands in the key's place.
    func signed(_ installation: FleetInstallation) -> [UInt8] {
        request("PUT", "/installations/\(installation.installID)", installation.body(), for: nil)
    }

    /// A phone with its token passes to another user, who reinstalls the app.
    func takeover(of holder: FleetInstallation, by newcomer: FleetInstallation) -> [UInt8] {
        let path = "/installations/\(newcomer.installID)"
        return request("PUT", path, holder.body(handedTo: newcomer), for: newcomer.owner)
    }

    /// The installation registers unchanged, for another user in a session.
    func ownerChange(of installation: FleetInstallation, to user: String) throws -> [UInt8] {
        let session = Owner.Session(id: try SessionID("session-of-\(user)"), expiresAt: nil)
        return request(
            "PUT", "/installations/\(installation.installID)", installation.body(),
            for: Owner(userID: try UserID(user), session: session))
    }

    func logout(of installation: FleetInstallation) -> [UInt8] {
        request("POST", "/installations/\(installation.installID)/logout", [], for: installation.owner)
    }

    func post(to installation: FleetInstallation) -> [UInt8] {
        let body = """
            {"to":{"installId":"\(installation.installID)"},"payload":{"title":"Your order has left","order":1042,\
            "url":"https://shop.example.com/orders/1042"},"ttl":"P3D"}
            """
        return request("POST", "/notifications", Array(body.utf8), for: nil)
    }

    func fetch(of installation: FleetInstallation) -> [UInt8] {
        request("GET", "/installations/\(installation.installID)/notifications?after=0", [], for: nil)
    }

    func topics(of installation: FleetInstallation, _ topic: String, _ isChosen: Bool) -> [UInt8] {
        request(
            "PATCH", "/installations/\(installation.installID)/topics",
            Array("{\"topics\":{\"\(topic)\":\(isChosen)}}".utf8), for: nil)
    }

    func erasure(of user: UserID) -> [UInt8] {
        request("DELETE", "/users/\(user)", [], for: nil)
    }

    /// The providers' reports that these tokens are unregistered.
    func feedback(about installations: [FleetInstallation]) -> [UInt8] {
        var writer = JSONWriter(capacity: 200 * installations.count)
        writer.array { writer in
            for installation in installations {
                writer.object { writer in
                    writer.member("token", installation.token.text)
                    writer.member("provider", installation.token.provider.rawValue)
                    writer.member("reason", installation.token.provider.unregisteredReason)
                }
            }
        }
        return request("POST", "/feedback", writer.bytes, for: nil)
    }

    private func request(_ method: String, _ path: String, _ body: [UInt8], for owner: Owner?) -> [UInt8] {
        var head = """
            \(method) /v1/apps/\(app)\(path) HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer \(key)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r\n
            """
        if let owner {
            head += "X-User-Id: \(owner.userID)\r\n"
            if let session = owner.session {
                head += "X-Session-Id: \(session.id)\r\n"
                if let expiresAt = session.expiresAt { head += "X-Session-Expires-At: \(expiresAt)\r\n" }
            }
        }
        return Array("\(head)\r\n".utf8) + body
    }
}

extension Provider {
    /// Huawei only reports single tokens as doubtful; for an installation that was just seen that has the same effect.
    fileprivate var unregisteredReason: String {
        switch self {
        case .apns, .apnsSandbox: "Unregistered"
        case .fcm: "UNREGISTERED"
        case .huawei: "80300007"
        case .webPush: "410"
        }
    }
}
