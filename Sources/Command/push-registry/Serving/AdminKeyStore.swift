import ArgumentParser
import Foundation
import Glibc
import RegistryAPI

/// Provides the admin key: from the settings, or, with the embedded PostgreSQL, a key that is generated and printed at
/// the first start. Only the SHA-256 of a generated key is stored, in the data folder. Who has it can forge sessions of
/// the console, so only the service's user may read the file.
struct AdminKeyStore {
    private let settings: Settings
    private let isEmbedded: Bool

    init(_ settings: Settings, isEmbedded: Bool) {
        self.settings = settings
        self.isEmbedded = isEmbedded
    }

    func key() throws -> AdminKey {
        if let text = settings.adminKey { return try configured(text) }
        guard isEmbedded else {
            throw ValidationError(
                "Set PUSH_REGISTRY_ADMIN_KEY to a secret of at least \(AdminKey.charactersMin) characters, such as the "
                    + "output of: openssl rand -hex 32")
        }
        return try stored() ?? generate()
    }

    private func configured(_ text: String) throws -> AdminKey {
        guard let key = AdminKey(text) else {
            throw ValidationError("PUSH_REGISTRY_ADMIN_KEY must have at least \(AdminKey.charactersMin) characters.")
        }
        return key
    }

    private var file: URL {
        URL(filePath: settings.dataDirectory).appending(path: "admin-key.sha256")
    }

    private func stored() throws -> AdminKey? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        try protect(file)
        guard let key = AdminKey(sha256: try Data(contentsOf: file)) else {
            throw ValidationError("\(file.path) is damaged. Delete it: the next start generates a new admin key.")
        }
        return key
    }

    private func protect(_ file: URL) throws {
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    private func generate() throws -> AdminKey {
        let text = AdminKey.makeText()
        guard let key = AdminKey(text) else { preconditionFailure("a generated key is long enough") }
        let unfinished = file.appendingPathExtension("new")
        guard FileManager.default.createFile(atPath: unfinished.path, contents: nil) else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: unfinished.path])
        }
        try protect(unfinished)
        try Data(key.sha256).write(to: unfinished)
        guard rename(unfinished.path, file.path) == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path])
        }
        show(
            """
            Admin key, shown only once (set your own by PUSH_REGISTRY_ADMIN_KEY; to get a new one, delete \
            \(file.path)):
              \(text)
            """)
        return key
    }
}
