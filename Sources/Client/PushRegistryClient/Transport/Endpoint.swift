import Foundation

/// The requests of one app.
struct Endpoint: Sendable, Hashable {
    typealias Request = PushRegistryClient.Request

    private let url: URL
    private let app: String

    init(url: URL, app: String) {
        self.url = url
        self.app = app
    }

    func registration(_ installID: String, _ body: SentRegistrationBody, credential: String, eTag: String?) -> Request {
        request("PUT", installation(installID), credential: credential, eTag: eTag, body: body.json)
    }

    /// - Parameter credential: the JWT of the logout. The publishable key needs the delivery key instead of the
    ///   generation.
    func logout(_ logout: QueuedLogout, credential: String) -> Request {
        let deliveryKey = logout.credential == nil ? logout.deliveryKey : nil
        var request = request(
            "POST", installation(logout.installID) + ["logout"], credential: credential,
            eTag: deliveryKey == nil ? logout.ifMatch : nil,
            body: Data(#"{"keepAnonymous":\#(logout.keepAnonymous)}"#.utf8))
        request.fields["X-Delivery-Key"] = deliveryKey
        return request
    }

    /// Stores one token beside the one for alerts, or removes it.
    func token(_ installID: String, _ token: ReportedToken, credential: String) -> Request {
        let body = SentToken(token, isNamed: false).flatMap { try? JSONEncoder().encode($0) }
        let path = installation(installID) + ["tokens", token.id.kind.rawValue, token.id.pathSegment]
        return request(body == nil ? "DELETE" : "PUT", path, credential: credential, body: body)
    }

    func topics(_ installID: String, credential: String) -> Request {
        request("GET", installation(installID) + ["topics"], credential: credential)
    }

    func notifications(
        _ installID: String, after position: PushRegistryClient.NotificationPosition?, credential: String
    ) -> Request {
        var query = [URLQueryItem(name: "limit", value: "\(PushRegistryClient.MissedNotifications.countMax)")]
        if let position {
            query.append(URLQueryItem(name: "after", value: "\(position.number)"))
            query.append(URLQueryItem(name: "epoch", value: position.epoch))
        }
        return request("GET", installation(installID) + ["notifications"], query: query, credential: credential)
    }

    func receipts(_ body: Data) -> Request {
        request("POST", ["v1", "receipts"], credential: nil, body: body)
    }

    private func installation(_ id: String) -> [String] { ["v1", "apps", app, "installations", id] }

    private func request(
        _ method: String, _ path: [String], query: [URLQueryItem] = [], credential: String?, eTag: String? = nil,
        body: Data? = nil
    ) -> Request {
        // A part of the path may have a slash, which is encoded.
        var url = path.reduce(url) { $0.appending(component: $1) }
        if !query.isEmpty { url.append(queryItems: query) }
        var fields: [String: String] = [:]
        if let credential { fields["Authorization"] = "Bearer \(credential)" }
        if let eTag { fields["If-Match"] = eTag }
        if body != nil { fields["Content-Type"] = "application/json" }
        return Request(method, url, fields: fields, body: body)
    }
}
