import Foundation

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
