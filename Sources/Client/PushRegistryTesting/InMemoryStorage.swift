import Foundation
import PushRegistryClient

/// A storage for tests. It outlives a client, so a second client with the same storage is the app's next launch.
public final class InMemoryStorage: PushRegistryClient.Storage {
    /// The storage cannot be read or written, as on a phone before its first unlock or with a full disk.
    public struct Unavailable: Error {
        public init() {}
    }

    private struct State {
        var values: [String: Data] = [:]
        var isAvailable = true
    }

    private let state: LockedState<State>

    public init() {
        state = LockedState(State())
    }

    /// A copy, as after a restored backup or a transfer to another phone.
    public init(copying other: InMemoryStorage) {
        state = LockedState(State(values: other.state.withLock { $0.values }))
    }

    public var isAvailable: Bool {
        get { state.withLock { $0.isAvailable } }
        set { state.withLock { $0.isAvailable = newValue } }
    }

    /// All values, to check what is stored.
    public var values: [String: Data] { state.withLock { $0.values } }

    public func read(_ name: String) throws -> Data? {
        try access { $0[name] }
    }

    public func write(_ data: Data, to name: String, protection: PushRegistryClient.StorageProtection) throws {
        try access { $0[name] = data }
    }

    public func remove(_ name: String) throws {
        try access { $0[name] = nil }
    }

    public func names(withPrefix prefix: String) throws -> [String] {
        try access { $0.keys.filter { $0.hasPrefix(prefix) }.sorted() }
    }

    private func access<Value: Sendable>(_ body: @Sendable (inout [String: Data]) -> Value) throws -> Value {
        try state.withLock { state in
            guard state.isAvailable else { throw Unavailable() }
            return body(&state.values)
        }
    }
}
