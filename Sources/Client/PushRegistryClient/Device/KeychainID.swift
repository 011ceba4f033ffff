#if canImport(Security)
import Foundation
import Security

/// A UUID in the keychain. It survives a reinstall of the app and stays on this device.
enum KeychainID {
    /// The keychain failed, but not because the item does not exist.
    struct Unavailable: Error {
        let status: OSStatus
    }

    private static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "PushRegistryClient",
            kSecAttrAccount as String: "keychainId",
        ]
    }

    /// Reads the id. Creates it only if the keychain reports that it does not exist.
    ///
    /// - Throws: `Unavailable`, for example before the first unlock.
    static func read() throws -> String {
        var result: CFTypeRef?
        let query = item.merging([kSecReturnData as String: true]) { $1 }
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        switch status {
        case errSecSuccess:
            guard let data = result as? Data else { throw Unavailable(status: status) }
            return String(decoding: data, as: UTF8.self)
        case errSecItemNotFound:
            return try create()
        default:
            throw Unavailable(status: status)
        }
    }

    private static func create() throws -> String {
        let id = UUID().uuidString
        let attributes: [String: Any] = [
            kSecValueData as String: Data(id.utf8),
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let status = SecItemAdd(item.merging(attributes) { $1 } as CFDictionary, nil)
        guard status == errSecSuccess else { throw Unavailable(status: status) }
        return id
    }
}
#endif
