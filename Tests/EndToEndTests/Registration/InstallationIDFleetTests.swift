import Basics
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

extension EndToEnd {
    /// An app's phones turn to Firebase installation ids in ten rounds, nine days apart. Some were imported, are
    /// reinstalled, or change their user while a logout waits for a network. The sender pushes to spellings that the
    /// phones have left.
    @Suite("A fleet that turns to Firebase installation ids has one active address for each phone", .separateRegistry)
    struct InstallationIDFleetTests {
        /// `PUSH_REGISTRY_TEST_PHONES`, by default 5,000.
        private static let phones =
            ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_PHONES"].flatMap { Int($0) } ?? 5_000
        private static let clients = 32

        @Test func fleet_keepsEveryPhone_whileItTurns() async throws {
            let app = try await RegistryApp.make()
            var phones = (0..<Self.phones).map { MigratingPhone(number: $0) }
            let rows = phones.filter(\.isImported).map(\.importedRow)
            let run = try await ImportRun(rows, into: app)
            #expect(run.summary["imported"].integer == Int64(rows.count), "\(run.log)")
            for round in 0..<MigratingPhone.rounds {
                let fleet = phones
                let parts = try await race(Self.clients) { client in
                    var part: [(MigratingPhone, MigratingPhone.Mail)] = []
                    for phone in stride(from: client, to: fleet.count, by: Self.clients).map({ fleet[$0] }) {
                        var phone = phone
                        let mail = try await phone.live(in: round, app)
                        part.append((phone, mail))
                    }
                    return part
                }
                let lived = parts.flatMap(\.self).sorted { $0.0.number < $1.0.number }
                phones = lived.map(\.0)
                try await Self.deliver(lived.map(\.1), to: app)
                if round % 3 == 0 { try await Self.expectOneAddress(of: phones, in: app) }
                try await app.age(by: "9 days")
            }
            #expect(phones.allSatisfy { $0.isRegistered && $0.token == $0.fid })
            let respelled = try await app.database.count(
                """
                SELECT count(*) FROM token_event JOIN app ON app.id = app_id
                WHERE identifier = \(app.id) AND event = 'rotated' AND reason = 'respelled'
                """)
            #expect(respelled == phones.count { $0.isRespelled })
            try await app.registry.expectVerified()
        }

        /// Sends the verdicts and logouts of a round.
        private static func deliver(_ mail: [MigratingPhone.Mail], to app: RegistryApp) async throws {
            let verdicts = mail.flatMap(\.verdicts)
            var counts: [String: Int64] = [:]
            for start in stride(from: 0, to: verdicts.count, by: 10_000) {
                let items = verdicts[start..<min(start + 10_000, verdicts.count)].map { token, _ -> JSON in
                    ["token": .string(token), "provider": "fcm", "reason": "UNREGISTERED"]
                }
                let response = try await app.send("POST", "/feedback", .array(items), by: .role(.sender))
                for (name, count) in response.json.object { counts[name, default: 0] += count.integer ?? 0 }
            }
            let dead = verdicts.count { $0.isOfPresentSpelling }
            #expect(counts["outdated", default: 0] == Int64(verdicts.count - dead), "\(counts)")
            #expect(counts["unregistered", default: 0] + counts["suspect", default: 0] == Int64(dead), "\(counts)")
            for logout in mail.compactMap(\.lateLogout) {
                let response = try await app.send(
                    "POST", "/installations/\(logout.installID)/logout", [:],
                    fields: [("X-User-Id", logout.user), ("If-Match", logout.eTag)])
                #expect(response.json["status"] == "outdated", "\(response.text)")
            }
        }

        private static func expectOneAddress(of phones: [MigratingPhone], in app: RegistryApp) async throws {
            let rows = try await app.export([
                "filter": [:], "include": "active", "fields": ["installId", "token", "userId", "addressKind"],
            ])
            let present = rows.map { row in
                ["installId", "token", "userId", "addressKind"].map { row[$0].string ?? "" }.joined(separator: " ")
            }
            let expected = phones.filter(\.isKnown).map(\.line)
            #expect(present.count == expected.count)
            let (lost, surplus) = (Set(expected).subtracting(present), Set(present).subtracting(expected))
            #expect(lost.isEmpty && surplus.isEmpty, "\(lost.prefix(3)) \(surplus.prefix(3))")
            let breakdown = try await app.ask(
                "breakdown", ["filter": [:], "include": "active", "by": ["addressKind"]]
            ).json
            let groups = breakdown["groups"].array.map { ($0["addressKind"].string ?? "", $0["count"].integer ?? 0) }
            let kinds = Dictionary(grouping: phones.filter(\.isKnown), by: \.addressKind).mapValues { Int64($0.count) }
            #expect(Dictionary(uniqueKeysWithValues: groups) == kinds)
        }
    }
}

/// A phone, and what the registry must have of it.
private struct MigratingPhone: Sendable {
    /// What the sender and the former user send about a phone, later.
    struct Mail: Sendable {
        var verdicts: [(token: String, isOfPresentSpelling: Bool)] = []
        var lateLogout: (installID: String, user: String, eTag: String)?
    }

    static let rounds = 10

    let number: Int
    let isImported: Bool
    /// The round in which the app turns to its installation id.
    private let turning: Int
    private let reinstalling: Int?
    private let changingUser: Int?
    private(set) var isRegistered = false
    /// Whether the registry has had both spellings of the address, in this order.
    private(set) var isRespelled = false
    private(set) var fid: String
    /// The spelling that was registered or imported last.
    private(set) var token: String
    private var installID: String
    private var user: String

    init(number: Int) {
        var random = SeededGenerator(seed: UInt64(number))
        self.number = number
        isImported = random.next() % 100 < 40
        turning = Int(random.next() % UInt64(Self.rounds))
        reinstalling = random.next() % 100 < 5 ? Int(random.next() % UInt64(Self.rounds)) : nil
        changingUser = random.next() % 100 < 5 ? Int(random.next() % UInt64(Self.rounds)) : nil
        fid = Self.fid(number, life: 1)
        token = "\(fid):APA91b\(number)"
        installID = isImported ? "imported-\(number)" : "phone-\(number)"
        user = "user-\(number)"
    }

    /// 22 characters of base64url, the first of which is `c`, `d`, `e` or `f`.
    private static func fid(_ number: Int, life: Int) -> String {
        var random = SeededGenerator(seed: UInt64(number * 2 + life))
        let bytes = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        return ["c", "d", "e", "f"][number % 4] + String(base64URL: bytes).prefix(21)
    }

    /// Whether the registry knows it.
    var isKnown: Bool { isRegistered || isImported }

    var addressKind: String { token == fid ? "fid" : "token" }

    /// As the line of an export.
    var line: String { "\(installID) \(token) \(user) \(addressKind)" }

    var importedRow: JSON {
        [
            "installId": .string(installID), "provider": "fcm", "token": .string(token), "userId": .string(user),
            "lastSeenAt": .string((Date() - 5 * 86_400).formatted(.iso8601)),
        ]
    }

    mutating func live(in round: Int, _ app: RegistryApp) async throws -> Mail {
        var mail = Mail()
        if reinstalling == round {
            if isKnown { mail.verdicts.append((token, true)) }
            fid = Self.fid(number, life: 2)
            isRegistered = false
            installID = "again-\(number)"
            token = turning <= round ? fid : "\(fid):APA91b\(number)"
            _ = try await register(app)
            return mail
        }
        if turning == round {
            if isKnown { mail.verdicts.append((token, false)) }
            isRespelled = isRespelled || isRegistered
            token = fid
            _ = try await register(app)
        } else if isRegistered ? (number + round) % Self.rounds == 0 : !isImported && round == 0 {
            _ = try await register(app)
        }
        if changingUser == round, isRegistered {
            let before = try await register(app)
            mail.lateLogout = (installID, user, before["ETag"] ?? "")
            user = "next-\(number)"
            _ = try await register(app)
        }
        return mail
    }

    /// The app of an imported phone has an id of its own.
    private mutating func register(_ app: RegistryApp) async throws -> HTTPResponse {
        if !isRegistered, installID.hasPrefix("imported") { installID = "phone-\(number)" }
        var device = SampleRegistration.device(installID)
        for name in ["keychainId", "vendorId"] { device = device.without(name) }
        device["systemName"] = "Android"
        let body = SampleRegistration.make(installID, token: token, provider: "fcm", device: device)
        let response = try await app.put(installID, body, as: user)
        guard [200, 201].contains(response.status) else { throw UnexpectedResponse(response: response) }
        isRegistered = true
        return response
    }
}
