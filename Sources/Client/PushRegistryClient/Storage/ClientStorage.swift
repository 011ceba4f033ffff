import Foundation

extension PushRegistryClient {
    /// Stores the client's few small values durably.
    ///
    /// A storage must distinguish a value that does not exist from one that cannot be read now. Otherwise the client
    /// would create a new installation at each launch before the first unlock of a phone.
    public protocol Storage: Sendable {
        /// - Returns: the value, or nil if it certainly does not exist.
        /// - Throws: if it cannot be read now.
        func read(_ name: String) throws -> Data?

        /// Replaces a value atomically: after a crash, the storage has the old or the new value.
        ///
        /// - Parameters:
        ///   - data: the new value.
        ///   - name: letters, digits, `-` and `.`.
        ///   - protection: when the value must be readable.
        func write(_ data: Data, to name: String, protection: StorageProtection) throws

        /// Removes a value. It is not an error if the value does not exist.
        func remove(_ name: String) throws

        /// The names that begin with `prefix`, in alphabetical order.
        func names(withPrefix prefix: String) throws -> [String]
    }

    /// When a stored value must be readable.
    public enum StorageProtection: Sendable, Hashable {
        /// Always, also before the first unlock after a restart. Such values contain no credential of a user.
        case always
        /// After the first unlock.
        case afterFirstUnlock
    }
}
