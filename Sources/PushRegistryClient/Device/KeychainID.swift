#if canImport(Security)
import Foundation
import Security

/// A UUID in the keychain. It survives a reinstall of the app and stays on this device.
enum KeychainID {
    /// The keychain failed for another reason than that the item does not exist.
    struct Unavailable: Error {
        let status: OSStatus
    }

    private static var item: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "PushRegistryClient",
            kSecAttrAccount as String: "keychainId",
        ]
    }

    /// The id. It is created only if the keychain says that there is none.
    ///
    /// - Throws: `Unavailable`, before the first unlock for instance.
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
