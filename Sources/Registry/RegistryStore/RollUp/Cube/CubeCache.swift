import Basics
import PushRegistry

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
