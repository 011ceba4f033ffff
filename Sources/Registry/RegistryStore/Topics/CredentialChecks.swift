import PostgresClient
import PushRegistry

/// The checks of JWTs within the transaction of a batch (R7).
struct CredentialChecks {
    private let app: AppNumber
    private let items: [(index: Int, patch: TopicsPatch, credential: UserCredential, key: InstallationKey?)]

    /// - Parameter batch: patches, each with the installation whose logouts also end a credential.
    init(_ batch: [(patch: TopicsPatch, key: InstallationKey?)], in app: AppNumber) {
        self.app = app
        items = batch.enumerated().compactMap { index, item in
            item.patch.credential.map { (index, item.patch, $0, item.key) }
        }
    }

    var statements: [PostgresStatement] {
        items.map { CredentialStatements.tombstones(of: $0.credential, on: $0.key, in: app) }
    }

    /// The indices in the batch of the patches whose credential has ended.
    func refusals(_ results: ArraySlice<PostgresResult>, at now: Timestamp) throws -> Set<Int> {
        var refused: Set<Int> = []
        for (item, result) in zip(items, results) {
            let tombstones = try Tombstones(result[0], of: item.credential, on: item.key, in: app)
            let hasEnded = tombstones.hasEnded(
                item.credential, on: item.key, in: app, remembering: item.patch.sessionTombstones, at: now)
            if hasEnded { refused.insert(item.index) }
        }
        return refused
    }
}
