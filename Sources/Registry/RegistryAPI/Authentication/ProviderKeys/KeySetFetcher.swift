import PushRegistry

/// Fetches the key set of an identity provider. It must not block the caller's event loop.
public protocol KeySetFetcher: Sendable {
    /// Returns or throws within seconds, even if the provider does not respond.
    ///
    /// - Throws: `KeySetFailure`.
    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet
}

/// A fetched key set.
public struct PublishedKeySet: Sendable {
    /// JSON, not parsed yet.
    public let text: [UInt8]
    /// How long the set is fresh according to the provider; nil if it does not say so.
    public let maxAge: Duration?

    public init(text: [UInt8], maxAge: Duration?) {
        self.text = text
        self.maxAge = maxAge
    }
}

/// A key set cannot be fetched. The reason is for the operator's log.
public struct KeySetFailure: Error, Sendable {
    public let reason: String

    public init(reason: String) {
        self.reason = reason
    }
}

extension PublishedKeySet {
    /// Enough for 100 keys with their certificates.
    public static let bytesMax = 256 * 1024
}
