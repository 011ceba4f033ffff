/// All apps and keys of one version of the directory.
public final class DirectorySnapshot: Sendable {
    public let version: Int64
    /// Identifies the database: a restored dump has another one. Empty before the first read.
    public let databaseEpoch: String
    public let apps: [AppID: App]
    public let unusable: [AppID: UnusableApp]
    public let deleting: [AppID: DeletingApp]
    private let keys: [String: APIKey]
    private let appsByNumber: [AppNumber: App]

    /// The apps of a snapshot, by what calls can do with them.
    public struct Apps: Sendable {
        public var usable: [App] = []
        public var unusable: [UnusableApp] = []
        public var deleting: [DeletingApp] = []

        public init() {}
    }

    public convenience init(version: Int64, databaseEpoch: String = "", apps: [App], keys: [APIKey]) {
        var known = Apps()
        known.usable = apps
        self.init(
            version: version, databaseEpoch: databaseEpoch, apps: known,
            keys: Dictionary(uniqueKeysWithValues: keys.map { ($0.id, $0) }))
    }

    private init(version: Int64, databaseEpoch: String, apps: Apps, keys: [String: APIKey]) {
        (self.version, self.databaseEpoch) = (version, databaseEpoch)
        self.apps = Dictionary(uniqueKeysWithValues: apps.usable.map { ($0.id, $0) })
        appsByNumber = Dictionary(uniqueKeysWithValues: apps.usable.map { ($0.number, $0) })
        unusable = Dictionary(uniqueKeysWithValues: apps.unusable.map { ($0.id, $0) })
        deleting = Dictionary(uniqueKeysWithValues: apps.deleting.map { ($0.id, $0) })
        self.keys = keys
    }

    /// The snapshot after changes of some apps.
    ///
    /// - Parameters:
    ///   - changed: the apps of which `apps` replace what was known.
    ///   - owners: the apps of which `keys` are all keys.
    public func replacing(
        _ changed: Set<AppNumber>, by apps: Apps, keysOf owners: Set<AppNumber>, by keys: [APIKey], version: Int64,
        databaseEpoch: String
    ) -> DirectorySnapshot {
        var apps = apps
        apps.usable += self.apps.values.filter { !changed.contains($0.number) }
        apps.unusable += unusable.values.filter { !changed.contains($0.number) }
        apps.deleting += deleting.values.filter { !changed.contains($0.number) }
        var present = self.keys
        if !owners.isEmpty {
            for key in self.keys.values where owners.contains(key.app) { present[key.id] = nil }
            for key in keys { present[key.id] = key }
        }
        return DirectorySnapshot(version: version, databaseEpoch: databaseEpoch, apps: apps, keys: present)
    }

    public func app(_ number: AppNumber) -> App? { appsByNumber[number] }

    public func key(_ id: String) -> APIKey? { keys[id] }

    public func keys(of app: AppNumber) -> [APIKey] {
        keys.values.filter { $0.app == app }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }
}
