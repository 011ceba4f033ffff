import Locking
import PostgresClient
import PushRegistry

/// The roll-up's cells of an import, in a cache that its sessions share. A cell that is missing is created ahead of the
/// transaction.
final class ImportCells: Sendable {
    private let app: AppNumber
    private let known = Locked<[RollUpCells.Key: Int64]>([:])

    init(app: AppNumber) {
        self.app = app
    }

    /// - Returns: a number for each key, in their order.
    func numbers(of keys: [RollUpCells.Key], _ session: PostgresSession) throws -> [Int64] {
        var numbers = known.withLock { known in keys.map { known[$0] } }
        let missing = Array(Set(zip(keys, numbers).lazy.filter { $1 == nil }.map(\.0)))
        guard !missing.isEmpty else { return numbers.compactMap(\.self) }
        let created = Dictionary(
            uniqueKeysWithValues: zip(missing, try RollUpCellCreation.run(missing, in: session)))
        add(created)
        for (index, key) in keys.enumerated() where numbers[index] == nil { numbers[index] = created[key] }
        return numbers.compactMap(\.self)
    }

    private func add(_ created: [RollUpCells.Key: Int64]) {
        known.withLock { known in
            if known.count + created.count > RollUpCells.cachedMax { known.removeAll(keepingCapacity: true) }
            known.merge(created) { $1 }
        }
    }
}
