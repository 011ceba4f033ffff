import Basics
import PostgresClient
import PushRegistry
import RegistryStore

/// The roll-up's cells of an import, in a cache that its sessions share. A cell that is missing is created ahead of the
/// transaction. As in `RollUpCells`, the cache belongs to one state of the database.
final class ImportCells: Sendable {
    private let app: AppNumber
    private let cache = Locked<(identity: String, known: [RollUpCells.Key: Int64])>(("", [:]))

    init(app: AppNumber) {
        self.app = app
    }

    /// - Returns: a number for each key, in their order.
    func numbers(of keys: [RollUpCells.Key], _ session: PostgresSession) throws -> [Int64] {
        let identity: String = try session.execute(DatabaseIdentityStatements.identity())[0].decode(0)
        var numbers = cache.withLock { cache in
            if cache.identity != identity { cache = (identity, [:]) }
            return keys.map { cache.known[$0] }
        }
        let missing = Array(Set(zip(keys, numbers).lazy.filter { $1 == nil }.map(\.0)))
        guard !missing.isEmpty else { return numbers.compactMap(\.self) }
        let created = Dictionary(
            uniqueKeysWithValues: zip(missing, try RollUpCellCreation.run(missing, in: session)))
        add(created, identity)
        for (index, key) in keys.enumerated() where numbers[index] == nil { numbers[index] = created[key] }
        return numbers.compactMap(\.self)
    }

    private func add(_ created: [RollUpCells.Key: Int64], _ identity: String) {
        cache.withLock { cache in
            guard cache.identity == identity else { return }
            if cache.known.count + created.count > RollUpCells.cachedMax {
                cache.known.removeAll(keepingCapacity: true)
            }
            cache.known.merge(created) { $1 }
        }
    }
}
