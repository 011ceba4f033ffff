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
        /// After the first unlock. Such values may contain a credential of a user.
        case afterFirstUnlock
    }
}

/// One named value of a storage, as JSON.
struct StoredValue<Value: Codable> {
    private let name: String

    init(_ name: String) {
        self.name = name
    }

    /// - Returns: nil without a value. A value that is not JSON of its type is damaged: it is kept under another name,
    ///   for an investigation, and the result is nil.
    /// - Throws: if the storage cannot be read now.
    func read(from storage: any PushRegistryClient.Storage) throws -> Value? {
        guard let data = try storage.read(name) else { return nil }
        if let value = try? JSONDecoder().decode(Value.self, from: data) { return value }
        try storage.write(data, to: "damaged-\(name)", protection: .afterFirstUnlock)
        return nil
    }

    /// - Parameter value: nil removes it.
    func write(
        _ value: Value?, to storage: any PushRegistryClient.Storage,
        protection: PushRegistryClient.StorageProtection
    ) throws {
        guard let value else { return try storage.remove(name) }
        try storage.write(try JSONEncoder().encode(value), to: name, protection: protection)
    }
}
