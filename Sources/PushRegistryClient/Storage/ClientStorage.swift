import Foundation

extension PushRegistryClient {
    /// Stores the client's few small values durably.
    ///
    /// "Not there" and "not readable now" are different answers: a client that took the second for the first would
    /// create a new installation at each launch before the first unlock of a phone.
    public protocol Storage: Sendable {
        /// - Returns: the value, or nil if it certainly does not exist.
        /// - Throws: if it cannot be read now.
        func read(_ name: String) throws -> Data?

        /// Replaces a value atomically: after a crash it is the old or the new one.
        ///
        /// - Parameters:
        ///   - data: the new value.
        ///   - name: letters, digits, `-` and `.`.
        ///   - protection: when the value must be readable.
        func write(_ data: Data, to name: String, protection: StorageProtection) throws

        /// Removes a value. It is no error if it does not exist.
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
