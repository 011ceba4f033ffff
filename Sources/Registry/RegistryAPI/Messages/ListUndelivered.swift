// GET /v1/apps/{app}/messages/{message}/undelivered

import HTTPApplication
import HTTPTypes
import Logging
import PushRegistry
import StrictJSON

extension RegistryService {
    private static let undeliveredPage = 1_000

    /// Streams the installations for which a recorded message was handed out some time ago, and which have not reported
    /// a delivery. Each page is read when it is sent: an installation that reports before is left out.
    var listUndelivered: Route {
        appRoute(.get, Self.messagePattern + "/undelivered", allowing: [.service, .sender]) { request, call in
            let app = call.app.number
            var query = try QueryParameters(request, ["after", "cursor"])
            let age = query.duration("after") ?? ISO8601Duration(seconds: 15 * 60)
            let last = query.cursor("cursor") { UndeliveredCursor.installation($0, of: app) }
            try query.check()
            let message = try await message(of: call, in: request)
            guard message.content.isRecorded else { throw APIError.messageNotRecorded }
            let until = Timestamp.now().preceding(by: age)
            audit.read("undelivered read", ["message": "\(message.name)"], by: call, in: request)
            return ServerResponse(
                .ok, fields: [.contentType: "application/x-ndjson"],
                body: .stream { [last, messages] writer in
                    var last = last
                    var isFull = true
                    while isFull {
                        let page = try await messages.undelivered(
                            message.number, of: app, handedOutUntil: until, after: last, limit: Self.undeliveredPage)
                        if !page.isEmpty { try await writer.write(Self.lines(page, app)) }
                        isFull = page.count == Self.undeliveredPage
                        last = page.last?.installation
                    }
                })
        }
    }

    private static func lines(_ targets: [UndeliveredTarget], _ app: AppNumber) -> [UInt8] {
        var bytes: [UInt8] = []
        for target in targets {
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("installId", target.installID)
                writer.member("userId", target.userID)
                writer.member("state", target.state ?? "deleted")
                writer.member("cursor", UndeliveredCursor.text(target.installation, of: app))
            }
            bytes += writer.bytes
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }
}

/// `<app>.<hash>`.
private enum UndeliveredCursor {
    static func text(_ installation: InstallationHash, of app: AppNumber) -> String {
        "\(app.rawValue).\(installation.rawValue)"
    }

    static func installation(_ text: String, of app: AppNumber) -> InstallationHash? {
        let prefix = "\(app.rawValue)."
        guard text.hasPrefix(prefix) else { return nil }
        return Int64(text.dropFirst(prefix.count)).map(InstallationHash.init)
    }
}
