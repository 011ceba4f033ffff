// GET /v1/apps/{app}/users/{userId}/installations
// POST /v1/apps/{app}/users/installations

import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension RegistryService {
    var listUserInstallations: Route {
        appRoute(.get, Self.userPattern + "/installations", allowing: [.service, .sender, .support]) { request, call in
            let page = try PageRequest(request) { try? InstallID($0) }
            let found = try await users.installations(
                of: [try request.identifier("userId", UserID.init)], in: call.app.number, after: page.after,
                limit: page.limit)
            let audience = RecordAudience(call.caller)
            return .json(capacity: 4_096) { writer in
                writer.array("installations", found.installations) { $0.installation($1, showing: audience) }
                writer.member("next", found.next?.rawValue)
            }
        }
    }

    /// More than 1,000 users of 128 characters need.
    private static let usersBytesMax = 256 * 1_024
    private static let usersMax = 1_000
    /// The most installations that are in memory.
    private static let installationsPage = 500

    /// Streams the installations of many users, each read when it is sent: users have any number of installations.
    /// After an error the connection is reset, so that a complete response is a complete list.
    var listInstallationsOfUsers: Route {
        appRoute(
            .post, "/v1/apps/{app}/users/installations", allowing: [.service, .sender],
            bodyBytesMax: Self.usersBytesMax
        ) { request, call in
            let named = try await request.parsedJSON { try Self.users(in: $0) }
            let (app, audience, users) = (call.app.number, RecordAudience(call.caller), users)
            // An error of the first page has a status.
            let first = try await users.installations(of: named, in: app, after: nil, limit: Self.installationsPage)
            return ServerResponse(
                .ok, fields: [.contentType: "application/json"],
                body: .stream { writer in
                    var (page, text) = (first, UsersText(named))
                    while true {
                        let bytes = try text.add(page.installations, for: audience)
                        if !bytes.isEmpty { try await writer.write(bytes) }
                        guard let next = page.next else { break }
                        page = try await users.installations(
                            of: text.rest, in: app, after: next, limit: Self.installationsPage)
                    }
                    try await writer.write(text.end())
                })
        }
    }

    /// The users of `{userIds}`, each once, in ascending order.
    private static func users(in body: [UInt8]) throws -> [UserID] {
        let users = try JSONObject.read(body, members: ["userIds"], refusesNull: true) { root in
            root.required("userIds")?.array(elementsMax: usersMax)?.compactMap { value in
                value.string(scalarsMax: Device.textScalarsMax).flatMap { text in
                    value.parsed { () throws(InvalidValue) in try UserID(text) }
                }
            }
        }
        return Set(users).sorted { $0.rawValue < $1.rawValue }
    }
}

/// The text `{"users": {"<id>": [installations]}}`, in parts.
private struct UsersText {
    private let users: [UserID]
    /// The user whose list is open, by its index; -1 before the first.
    private var open = -1
    private var isEmpty = true

    init(_ users: [UserID]) { self.users = users }

    /// The users whose installations are not complete.
    var rest: [UserID] { Array(users[max(open, 0)...]) }

    /// - Parameter records: the next ones, in the order of users and of ids.
    mutating func add(_ records: [InstallationRecord], for audience: RecordAudience) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        for record in records {
            while open < 0 || users[open] != record.installation.owner?.userID {
                guard open + 1 < users.count else { throw .failed("an installation of a list has another owner") }
                openNext(&bytes)
            }
            if !isEmpty { bytes.append(UInt8(ascii: ",")) }
            isEmpty = false
            var writer = JSONWriter(capacity: 2_048)
            writer.installation(record, showing: audience)
            bytes += writer.bytes
        }
        return bytes
    }

    mutating func end() -> [UInt8] {
        var bytes: [UInt8] = []
        while open + 1 < users.count { openNext(&bytes) }
        return bytes + Array((open < 0 ? #"{"users":{}}"# : "]}}").utf8)
    }

    private mutating func openNext(_ bytes: inout [UInt8]) {
        bytes += Array((open < 0 ? #"{"users":{"# : "],").utf8)
        open += 1
        isEmpty = true
        var writer = JSONWriter()
        writer.string(users[open].rawValue)
        bytes += writer.bytes + Array(":[".utf8)
    }
}
