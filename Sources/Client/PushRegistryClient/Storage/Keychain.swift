import Foundation

#if canImport(Security)
import Security
#endif

/// Values that stay on this device, and survive a reinstall of the app.
protocol Keychain: Sendable {
    /// - Returns: nil if the item certainly does not exist.
    /// - Throws: `KeychainFailure`.
    func read(_ name: String) throws -> Data?

    /// - Throws: `KeychainFailure`.
    func add(_ data: Data, as name: String) throws
}

struct KeychainFailure: Error {
    let status: Int32

    /// Whether the keychain is readable later: `errSecInteractionNotAllowed`, before the first unlock. Other failures
    /// stay, such as a missing entitlement.
    var mayPass: Bool { status == -25_308 }
}

extension Keychain {
    /// The item, which is created if it does not exist.
    ///
    /// - Returns: nil if the keychain fails for good. The client works without it.
    /// - Throws: `KeychainFailure` if the keychain cannot be read yet.
    func item(_ name: String, or make: () -> Data) throws -> Data? {
        do {
            if let data = try read(name) { return data }
            let data = make()
            try add(data, as: name)
            return data
        } catch let failure as KeychainFailure where !failure.mayPass {
            return nil
        }
    }
}

#if canImport(Security)
/// The app's part of the system's keychain.
struct SystemKeychain: Keychain {
    private func item(_ name: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "PushRegistryClient",
            kSecAttrAccount as String: name,
            // Without the entitlement for it a Mac has no such keychain. The other one would ask the person.
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    func read(_ name: String) throws -> Data? {
        var result: CFTypeRef?
        let query = item(name).merging([kSecReturnData as String: true]) { $1 }
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return nil }
        guard status == errSecSuccess, let data = result as? Data else { throw KeychainFailure(status: status) }
        return data
    }

    func add(_ data: Data, as name: String) throws {
        let attributes: [String: Any] = [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let status = SecItemAdd(item(name).merging(attributes) { $1 } as CFDictionary, nil)
        guard status == errSecSuccess else { throw KeychainFailure(status: status) }
    }
}
#endif
