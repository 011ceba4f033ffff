import Foundation

extension PushRegistryClient {
    /// One file for each value, in a folder that is excluded from backups. On Apple platforms, values that may contain
    /// a credential are encrypted with a key in the keychain.
    ///
    /// With a notification service extension, use a folder of the app group that both share.
    public struct FileStorage: Storage {
        let folder: URL
        private let seal: Seal?

        /// - Parameter folder: created with the first value, and readable only by the user of the process.
        public init(folder: URL) {
            self.init(folder: folder, seal: .ofSystem)
        }

        init(folder: URL, seal: Seal?) {
            self.folder = folder
            self.seal = seal
        }

        public func read(_ name: String) throws -> Data? {
            do {
                let data = try Data(contentsOf: file(name))
                return try seal?.open(data) ?? data
            } catch let error as CocoaError where error.isNoSuchFile {
                return nil
            }
        }

        public func write(_ data: Data, to name: String, protection: StorageProtection) throws {
            try makeFolder()
            let file = file(name)
            let data = protection == .always ? data : try seal?.close(data) ?? data
            try data.write(to: file, options: protection.writingOptions)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }

        public func remove(_ name: String) throws {
            do {
                try FileManager.default.removeItem(at: file(name))
            } catch let error as CocoaError where error.isNoSuchFile {}
        }

        public func names(withPrefix prefix: String) throws -> [String] {
            do {
                return try FileManager.default.contentsOfDirectory(atPath: folder.path)
                    .filter { $0.hasPrefix(prefix) }.sorted()
            } catch let error as CocoaError where error.isNoSuchFile {
                return []
            }
        }

        private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

        private func makeFolder() throws {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            #if canImport(Darwin)
            var folder = folder
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try folder.setResourceValues(values)
            #endif
        }
    }
}

extension PushRegistryClient.Storage where Self == PushRegistryClient.FileStorage {
    /// Files in the support folder of the app: `PushRegistryClient`, in the folder with the app's bundle identifier, or
    /// with the program's name if it has none. On Linux the support folder is `~/.local/share`. Two processes need two
    /// folders: pass each a `FileStorage(folder:)`.
    public static var files: Self {
        // Mac apps without a sandbox, and programs on Linux, share the support folder.
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        let base = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        let folder = (base ?? URL(fileURLWithPath: NSHomeDirectory())).appendingPathComponent(app)
        return .init(folder: folder.appendingPathComponent("PushRegistryClient"))
    }

    #if canImport(Darwin)
    /// Files in the folder of an app group, which the notification service extension reads, too.
    ///
    /// - Throws: `Failure.storageUnavailable` without the entitlement for the group.
    public static func appGroup(_ identifier: String) throws -> Self {
        guard let base = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier) else {
            throw PushRegistryClient.Failure.storageUnavailable
        }
        return .init(folder: base.appendingPathComponent("PushRegistryClient"))
    }
    #endif
}

extension PushRegistryClient.StorageProtection {
    fileprivate var writingOptions: Data.WritingOptions {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
        switch self {
        case .always: [.atomic, .noFileProtection]
        case .afterFirstUnlock: [.atomic, .completeFileProtectionUntilFirstUserAuthentication]
        }
        #else
        .atomic
        #endif
    }
}

extension CocoaError {
    fileprivate var isNoSuchFile: Bool { code == .fileReadNoSuchFile || code == .fileNoSuchFile }
}
