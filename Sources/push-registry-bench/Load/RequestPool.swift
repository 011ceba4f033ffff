import FleetGenerator
import PushRegistry

/// Requests made beforehand, one behind the other in memory, so that sending one costs nothing but the sending.
final class RequestPool: Sendable {
    let bytes: [UInt8]
    private let ends: [Int]

    init(_ requests: some Sequence<[UInt8]>) {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for request in requests {
            bytes += request
            ends.append(bytes.count)
        }
        (self.bytes, self.ends) = (bytes, ends)
    }

    var count: Int { ends.count }

    func range(_ index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }
}

/// Which request of a pool is next.
enum RequestOrder {
    /// Any, again and again.
    case random
    /// One after the other, each once.
    case once
    /// The pool holds two for each installation, one behind the other: any installation, and of its two the one that it
    /// did not send last.
    case alternating
}

/// What the app's back end sends for its users' installations.
struct RegistrationWriter: Sendable {
    let app: AppID
    /// A key with the role `service`.
    let key: String

    func request(_ installation: FleetInstallation, settings: NotificationSettings? = nil) -> [UInt8] {
        let body = installation.body(settings: settings)
        var head = """
            PUT /v1/apps/\(app)/installations/\(installation.installID) HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer \(key)\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r\n
            """
        if let owner = installation.owner {
            head += "X-User-Id: \(owner.userID)\r\n"
            if let session = owner.session {
                head += "X-Session-Id: \(session.id)\r\n"
                if let expiresAt = session.expiresAt { head += "X-Session-Expires-At: \(expiresAt)\r\n" }
            }
        }
        return Array("\(head)\r\n".utf8) + body
    }
}
