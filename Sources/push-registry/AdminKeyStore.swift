import ArgumentParser
import Foundation
import RegistryAPI

/// Where the admin key comes from: the settings, or, with the embedded PostgreSQL, a key that is made and printed at
/// the first start. Of that one only the SHA-256 is kept, in the data folder.
struct AdminKeyStore {
    private let settings: Settings
    private let isEmbedded: Bool

    init(_ settings: Settings, isEmbedded: Bool) {
        self.settings = settings
        self.isEmbedded = isEmbedded
    }

    func key() throws -> AdminKey {
        if let text = settings.adminKey { return try given(text) }
        guard isEmbedded else {
            throw ValidationError(
                "Set PUSH_REGISTRY_ADMIN_KEY to a secret of at least \(AdminKey.charactersMin) characters, such as the "
                    + "output of: openssl rand -hex 32")
        }
        return try kept() ?? make()
    }

    private func given(_ text: String) throws -> AdminKey {
        guard let key = AdminKey(text) else {
            throw ValidationError("PUSH_REGISTRY_ADMIN_KEY needs at least \(AdminKey.charactersMin) characters.")
        }
        return key
    }

    private var file: URL {
        URL(filePath: settings.dataDirectory).appending(path: "admin-key.sha256")
    }

    private func kept() throws -> AdminKey? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        guard let key = AdminKey(sha256: try Data(contentsOf: file)) else {
            throw ValidationError("\(file.path) is damaged. Delete it, and the next start makes a new admin key.")
        }
        return key
    }

    private func make() throws -> AdminKey {
        let text = AdminKey.makeText()
        guard let key = AdminKey(text) else { preconditionFailure("a made key is long enough") }
        try Data(key.sha256).write(to: file, options: .atomic)
        show(
            """
            Admin key, shown this once (PUSH_REGISTRY_ADMIN_KEY chooses your own; without \(file.path) you get a new one):
              \(text)
            """)
        return key
    }
}
