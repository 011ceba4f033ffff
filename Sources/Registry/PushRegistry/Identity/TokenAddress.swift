/// The identity of a token: its app, its provider and the SHA-256 of its canonical form. At most one installation holds
/// an address (R1).
public struct TokenAddress: Hashable, Sendable {
    public let app: AppNumber
    public let provider: Provider
    public let sha256: [UInt8]

    public init(app: AppNumber, provider: Provider, sha256: [UInt8]) {
        self.app = app
        self.provider = provider
        self.sha256 = sha256
    }

    /// Digests are uniformly distributed, so eight bytes suffice. Hashing all fields costs ten times as much.
    public func hash(into hasher: inout Hasher) {
        sha256.prefix(8).withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
