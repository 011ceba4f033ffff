import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

@testable import PushRegistryClient

@Suite("Files keep the installation's identity")
struct ClientStorageTests {
    @Test func files_keepValues_andAreReadableByTheirUserOnly() throws {
        try withFolder { folder in
            let storage = PushRegistryClient.FileStorage(folder: folder)
            #expect(try storage.read("state") == nil)
            #expect(try storage.names(withPrefix: "").isEmpty)
            try storage.write(Data("1".utf8), to: "state", protection: .always)
            try storage.write(Data("2".utf8), to: "state", protection: .always)
            try storage.write(Data("3".utf8), to: "logouts", protection: .afterFirstUnlock)
            #expect(try PushRegistryClient.FileStorage(folder: folder).read("state") == Data("2".utf8))
            #expect(try storage.names(withPrefix: "") == ["logouts", "state"])
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.appending(path: "state").path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            try storage.remove("state")
            try storage.remove("state")
            #expect(try storage.read("state") == nil)
        }
    }

    /// Else two apps without a sandbox would be one installation, and one's logout would log the other out.
    @Test func files_areTheAppsOwn() {
        let folder = PushRegistryClient.FileStorage.files.folder
        #expect(folder.lastPathComponent == "PushRegistryClient")
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        #expect(folder.deletingLastPathComponent().lastPathComponent == app)
    }

    @Test func unreadableFile_isNotTreatedAsMissing() throws {
        try withFolder { folder in
            // A folder in the file's place: root may read every file.
            try FileManager.default.createDirectory(
                at: folder.appending(path: "state"), withIntermediateDirectories: true)
            #expect(throws: (any Error).self) {
                try PushRegistryClient.FileStorage(folder: folder).read("state")
            }
        }
    }

    @Test func damagedValue_isKeptAside_andTheTokenMovesToTheNewInstallation() async throws {
        let phone = Phone()
        _ = await phone.launch(as: "alice")
        try phone.storage.write(Data("{".utf8), to: "state", protection: .always)
        let client = await phone.launch(as: "alice")
        #expect(await client.settled().isRegistered)
        #expect(phone.storage.values["damaged-state"] == Data("{".utf8))
        #expect(await phone.registry.installationIDs.count == 2)
        #expect(await phone.registry.holder(of: Phone.token)?.userID == "alice")
    }

    @Test func state_hasNoCredential_andNoTokenForAlerts() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.setReachable(false)
        try await client.signOut()
        let state = String(decoding: phone.storage.values["state"] ?? Data(), as: UTF8.self)
        #expect(!state.contains(Phone.token) && !state.contains("alice") && !state.contains("."))
        let request = try #require(await phone.registry.requests.first)
        #expect(!"\(request)".contains(Phone.token) && !"\(request)".contains("Bearer"))
    }

    /// What version 0.1.0 has stored on phones: it never changes.
    private static let firstState = """
        {"installID": "i1", "fingerprint": "f1", "account": "user", "eTag": "\\"3\\"",
         "registration": {"digest": 1, "owner": 2, "at": 800000000, "until": 800086400},
         "attempt": {"digest": 3, "owner": 2}, "delivery": {"key": "k1", "epoch": "e1"},
         "topics": {"news": true, "offers": null}, "anonymousTopics": {"news": false}}
        """
    private static let firstLogouts = """
        [{"id": "9F0B1A3E-0000-4000-8000-000000000001", "installID": "i1", "credential": "a.b.c",
          "deliveryKey": "k1", "eTag": "\\"3\\"", "isUncertain": true, "keepAnonymous": true}]
        """

    @Test func valuesOfAnOlderVersion_areReadWhole() throws {
        let state = try JSONDecoder().decode(SavedState.self, from: Data(Self.firstState.utf8))
        var first = SavedState.full
        (first.tokens, first.user) = (nil, nil)
        #expect(state == first)
        let logouts = try JSONDecoder().decode([QueuedLogout].self, from: Data(Self.firstLogouts.utf8))
        #expect(logouts == [.full])
    }

    /// A later version may know more kinds of tokens.
    @Test func unknownKindOfToken_doesNotCostTheIdentity() throws {
        let json = try JSONEncoder().encode(SavedState.full)
        let later = String(decoding: json, as: UTF8.self).replacing("liveActivity", with: "hologram")
        let state = try JSONDecoder().decode(SavedState.self, from: Data(later.utf8))
        #expect(state.installID == "i1" && state.tokens == nil)
    }

    /// An older version has not written what a later one adds.
    @Test func valueWithoutAMember_isRead_withTheMembersDefault() throws {
        for (name, rest) in try Self.withoutOneMember(SavedState.full) where name != "installID" {
            #expect(try JSONDecoder().decode(SavedState.self, from: rest).installID == "i1", "\(name)")
        }
        for (name, rest) in try Self.withoutOneMember(QueuedLogout.full) where name != "installID" {
            #expect(try JSONDecoder().decode(QueuedLogout.self, from: rest).installID == "i1", "\(name)")
        }
    }

    /// `full` sets every member, so a member that is not decoded fails here.
    @Test func everyMember_outlivesTheProcess() throws {
        let defaults = Mirror(reflecting: SavedState(installID: "")).children
        for (member, standard) in zip(Mirror(reflecting: SavedState.full).children, defaults) {
            #expect("\(member.value)" != "\(standard.value)", "set \(member.label ?? "") in full")
        }
        #expect(try Self.decoded(SavedState.full) == .full)
        #expect(try Self.decoded(QueuedLogout.full) == .full)
    }

    private static func decoded<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: try JSONEncoder().encode(value))
    }

    /// The value's JSON without each of its members in turn, by the member's name.
    private static func withoutOneMember(_ value: some Encodable) throws -> [(name: String, json: Data)] {
        let object = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(value))
        let members = try #require(object as? [String: Any])
        return try members.keys.sorted().map { name in
            (name, try JSONSerialization.data(withJSONObject: members.filter { $0.key != name }))
        }
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}

extension SavedState {
    /// Every member differs from its default.
    fileprivate static var full: SavedState {
        var state = SavedState(installID: "i1")
        state.fingerprint = "f1"
        state.account = .user
        state.registration = Registration(
            digest: 1, owner: 2, at: Date(timeIntervalSinceReferenceDate: 800_000_000),
            until: Date(timeIntervalSinceReferenceDate: 800_086_400))
        state.attempt = Attempt(digest: 3, owner: 2)
        state.eTag = "\"3\""
        state.delivery = Delivery(key: "k1", epoch: "e1")
        state.topics = ["news": true, "offers": Bool?.none]
        state.anonymousTopics = ["news": false]
        let id = ReportedToken.ID(kind: .liveActivity, name: "trip-1")
        let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
        state.tokens = [Data(repeating: 1, count: 32)].compactMap {
            ReportedToken($0, id, expiresAt: now + 60, at: now)
        }
        state.user = 4
        return state
    }
}

extension QueuedLogout {
    fileprivate static var full: QueuedLogout {
        QueuedLogout(
            id: UUID(uuidString: "9F0B1A3E-0000-4000-8000-000000000001") ?? UUID(),
            installID: "i1", credential: "a.b.c", deliveryKey: "k1", eTag: "\"3\"", isUncertain: true,
            keepAnonymous: true)
    }
}
