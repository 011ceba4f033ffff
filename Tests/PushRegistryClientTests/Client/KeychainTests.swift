import Foundation
import Synchronization
import Testing

@testable import PushRegistryClient

@Suite("The keychain is used where it works")
struct KeychainTests {
    @Test func item_isCreatedOnce() throws {
        let keychain = FakeKeychain()
        #expect(try keychain.item("a") { Data("1".utf8) } == Data("1".utf8))
        #expect(try keychain.item("a") { Data("2".utf8) } == Data("1".utf8))
    }

    /// Another id would make the phone another one.
    @Test func item_isNotReplaced_beforeTheFirstUnlock() throws {
        let keychain = FakeKeychain()
        let first = try keychain.item("a") { Data("1".utf8) }
        keychain.fail(with: -25_308)
        #expect(throws: KeychainFailure.self) { try keychain.item("a") { Data("2".utf8) } }
        keychain.fail(with: nil)
        #expect(try keychain.item("a") { Data("2".utf8) } == first)
    }

    /// A missing entitlement, and an item that is there but cannot be found.
    @Test(arguments: [-34_018, -25_299] as [Int32])
    func item_isLeftOut_whenTheKeychainFailsForGood(_ status: Int32) throws {
        let keychain = FakeKeychain()
        keychain.fail(with: status)
        #expect(try keychain.item("a") { Data("1".utf8) } == nil)
    }

    @Test func credential_isEncrypted_inItsFile() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-client-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        func text(of file: String) throws -> String {
            String(decoding: try Data(contentsOf: folder.appending(path: file)), as: UTF8.self)
        }
        let keychain = FakeKeychain()
        let storage = PushRegistryClient.FileStorage(folder: folder, seal: .fake(keychain))
        try storage.write(Data("secret".utf8), to: "logouts", protection: .afterFirstUnlock)
        try storage.write(Data("open".utf8), to: "state", protection: .always)
        #expect(try !text(of: "logouts").contains("secret"))
        #expect(try text(of: "state") == "open")
        let next = PushRegistryClient.FileStorage(folder: folder, seal: .fake(keychain))
        #expect(try next.read("logouts") == Data("secret".utf8))
        #expect(try next.read("state") == Data("open".utf8))
        keychain.fail(with: -25_308)
        #expect(throws: KeychainFailure.self) { try storage.read("logouts") }
        #expect(throws: KeychainFailure.self) {
            try storage.write(Data("new".utf8), to: "logouts", protection: .afterFirstUnlock)
        }
        // Without a keychain, the client works as without encryption; what was encrypted is damaged.
        keychain.fail(with: -34_018)
        #expect(try StoredValue<[Int]>("logouts").read(from: storage) == nil)
        try StoredValue<[Int]>("logouts").write([1], to: storage, protection: .afterFirstUnlock)
        #expect(try text(of: "logouts") == "[1]")
        keychain.fail(with: nil)
        #expect(try StoredValue<[Int]>("logouts").read(from: storage) == [1])
    }
}

private final class FakeKeychain: Keychain {
    private struct State {
        var items: [String: Data] = [:]
        var failure: Int32?
    }

    private let state = Mutex(State())

    func fail(with status: Int32?) {
        state.withLock { $0.failure = status }
    }

    func read(_ name: String) throws -> Data? {
        try access { $0[name] }
    }

    func add(_ data: Data, as name: String) throws {
        try access { $0[name] = data }
    }

    private func access<Value: Sendable>(_ body: (inout [String: Data]) -> Value) throws -> Value {
        try state.withLock { state in
            if let status = state.failure { throw KeychainFailure(status: status) }
            return body(&state.items)
        }
    }
}

extension Seal {
    /// It changes each byte by the key's.
    fileprivate static func fake(_ keychain: FakeKeychain) -> Seal {
        let change: @Sendable (Data, Data) throws -> Data = { data, key in
            Data(zip(data, key + key).map { $0 ^ $1 })
        }
        return Seal(keychain: keychain, encrypt: change, decrypt: change)
    }
}
