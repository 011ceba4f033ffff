import Foundation
import PushRegistryClient
import PushRegistryTesting
import Testing

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

    @Test func state_hasNoCredential_andNoToken() async throws {
        let phone = Phone()
        let client = await phone.launch(as: "alice")
        await phone.registry.setReachable(false)
        try await client.signOut()
        let state = String(decoding: phone.storage.values["state"] ?? Data(), as: UTF8.self)
        #expect(!state.contains(Phone.token) && !state.contains("alice") && !state.contains("."))
        let request = try #require(await phone.registry.requests.first)
        #expect(!"\(request)".contains(Phone.token) && !"\(request)".contains("Bearer"))
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }
}
