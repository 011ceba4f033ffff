/// All apps and keys of one version of the directory.
public final class DirectorySnapshot: Sendable {
    public let version: Int64
    /// Identifies the database: a restored dump has another one. Empty before the first read.
    public let databaseEpoch: String
    public let apps: [AppID: App]
    public let unusable: [AppID: UnusableApp]
    private let keys: [String: APIKey]
    private let appsByNumber: [AppNumber: App]

    public init(
        version: Int64, databaseEpoch: String = "", apps: [App], unusable: [UnusableApp] = [], keys: [APIKey]
    ) {
        self.version = version
        self.databaseEpoch = databaseEpoch
        self.apps = Dictionary(uniqueKeysWithValues: apps.map { ($0.id, $0) })
        appsByNumber = Dictionary(uniqueKeysWithValues: apps.map { ($0.number, $0) })
        self.unusable = Dictionary(uniqueKeysWithValues: unusable.map { ($0.id, $0) })
        self.keys = Dictionary(uniqueKeysWithValues: keys.map { ($0.id, $0) })
    }

    public func app(_ number: AppNumber) -> App? { appsByNumber[number] }

    public func key(_ id: String) -> APIKey? { keys[id] }

    public func keys(of app: AppNumber) -> [APIKey] {
        keys.values.filter { $0.app == app }.sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }
}
