import Basics
import PostgresClient
import PushRegistry

/// The counts of an app's installations by cell, of all transactions before `since` and of no others. It begins with
/// the cube of the database (`rollup_cube`), and follows the deltas.
struct AppCube: Sendable {
    /// The server's run and the tables that the cube was read from. Numbers of transactions and cells are of no use
    /// elsewhere.
    let identity: String
    /// Of `rollup_state`.
    let version: Int64
    var since: Int64 = 0
    /// `rollup_state.folded` at that time.
    var folded: Int64 = 0
    var cells = CubeCells()
    /// By choice about a topic, or kind of typed tokens (`RollUpLayer`).
    var layers: [Int32: Layer] = [:]
    /// Which entry of the cache this is.
    var stamp: UInt64 = 0

    var bytes: Int { layers.values.reduce(cells.bytes) { $0 + $1.bytes } }

    func has(_ choices: [Int32]) -> Bool { choices.allSatisfy { layers[$0] != nil } }
}

extension AppCube {
    struct Counts: Sendable {
        /// Active installations of admitted cells, without the expired sessions that were swept.
        var reachable: Int64 = 0
        /// Of installations whose state is `active`.
        var active: Int64 = 0
        var installations: Int64 = 0

        static func += (left: inout Counts, right: Counts) {
            left.reachable += right.reachable
            left.active += right.active
            left.installations += right.installations
        }

        func count(_ include: AudienceInclude) -> Int64 {
            switch include {
            case .reachable: reachable
            case .active: active
            case .all: installations
            }
        }
    }

    struct Row: Sendable {
        let cell: Int32
        var counts: Counts
    }

    /// Active installations in sessions that expire, of a delta that was not folded yet: `rollup_expiry` does not have
    /// them.
    struct Expiring: Sendable {
        let transaction: Int64
        let expiresAt: PostgresTimestamp
        let cell: Int32
        let active: Int64
    }

    /// The counts of one choice.
    struct Layer: Sendable {
        /// In the order of cells, but in a record of a past day, whose rows only are read.
        private(set) var rows: [Row] = []
        private(set) var expiring: [Expiring] = []

        var bytes: Int { rows.count * MemoryLayout<Row>.stride + expiring.count * MemoryLayout<Expiring>.stride }

        init() {}

        init(recorded rows: [Row]) {
            self.rows = rows
        }

        /// - Parameter changes: in any order.
        mutating func add(_ changes: [Row]) {
            var fresh: [Row] = []
            for change in changes {
                if let index = index(of: change.cell) {
                    rows[index].counts += change.counts
                } else {
                    fresh.append(change)
                }
            }
            guard !fresh.isEmpty else { return }
            fresh.sort { $0.cell < $1.cell }
            var merged: [Row] = []
            merged.reserveCapacity(rows.count + fresh.count)
            var old = rows[...]
            for row in fresh {
                while let first = old.first, first.cell < row.cell {
                    merged.append(first)
                    old.removeFirst()
                }
                if merged.last?.cell == row.cell {
                    merged[merged.count - 1].counts += row.counts
                } else {
                    merged.append(row)
                }
            }
            rows = merged + old
        }

        /// - Parameter horizon: `rollup_expiry` has those of transactions before it.
        mutating func add(_ expiring: [Expiring], droppingBefore horizon: Int64) {
            self.expiring.removeAll { $0.transaction < horizon }
            self.expiring += expiring
        }

        private func index(of cell: Int32) -> Int? {
            var (low, high) = (0, rows.count)
            while low < high {
                let middle = (low + high) / 2
                if rows[middle].cell < cell { low = middle + 1 } else { high = middle }
            }
            return low < rows.count && rows[low].cell == cell ? low : nil
        }
    }

    mutating func add(_ rows: [Row], _ expiring: [Expiring], droppingBefore horizon: Int64, to choice: Int32) {
        layers[choice, default: Layer()].add(rows)
        layers[choice, default: Layer()].add(expiring, droppingBefore: horizon)
    }
}

/// The cubes of a process, which its event loops share. Beyond the limit, those that were not used for the longest time
/// are dropped; the next query of such an app reads the cube from the database again.
public final class CubeCache: Sendable {
    /// A cube takes some 110 bytes for each cell, so 10 MB for five million installations, and up to 32 bytes for each
    /// cell and topic.
    public static let bytesMax = 128 << 20

    private struct Entry {
        let cube: AppCube
        let bytes: Int
        var usedAt: UInt64
    }

    private struct State {
        var entries: [AppNumber: Entry] = [:]
        var bytes = 0
        /// Counts uses and entries.
        var steps: UInt64 = 0

        mutating func remove(_ app: AppNumber) {
            if let entry = entries.removeValue(forKey: app) { bytes -= entry.bytes }
        }
    }

    private let bytesMax: Int
    private let state = Locked(State())

    public init(bytesMax: Int = CubeCache.bytesMax) {
        self.bytesMax = bytesMax
    }

    /// The memory of all cubes, in bytes.
    public var bytes: Int { state.withLock { $0.bytes } }

    func cube(of app: AppNumber) -> AppCube? {
        state.withLock { state in
            state.steps += 1
            state.entries[app]?.usedAt = state.steps
            return state.entries[app]?.cube
        }
    }

    /// Stores a cube, unless another query has stored one of the app since `old` was read: the older one may be of
    /// later transactions.
    func store(_ cube: AppCube, of app: AppNumber, replacing old: AppCube?) {
        let bytes = cube.bytes
        state.withLock { state in
            guard state.entries[app]?.cube.stamp ?? 0 == old?.stamp ?? 0 else { return }
            state.remove(app)
            guard bytes <= bytesMax else { return }
            state.steps += 1
            var cube = cube
            cube.stamp = state.steps
            state.entries[app] = Entry(cube: cube, bytes: bytes, usedAt: state.steps)
            state.bytes += bytes
            while state.bytes > bytesMax, let oldest = state.entries.min(by: { $0.value.usedAt < $1.value.usedAt }) {
                state.remove(oldest.key)
            }
        }
    }
}
