import PushRegistry

/// Fetches what an identity provider publishes. It must not block the caller's event loop.
public protocol KeySetFetcher: Sendable {
    /// - Throws: `KeySetFailure`. Returns or throws within seconds, whatever the provider does.
    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet
}

/// A key set as it was fetched.
public struct PublishedKeySet: Sendable {
    /// JSON; not read yet.
    public let text: [UInt8]
    /// How long the provider calls it fresh; nil if it says nothing.
    public let maxAge: Duration?

    public init(text: [UInt8], maxAge: Duration?) {
        self.text = text
        self.maxAge = maxAge
    }
}

/// Why a key set cannot be had. The reason is for an operator's log.
public struct KeySetFailure: Error, Sendable {
    public let reason: String

    public init(reason: String) {
        self.reason = reason
    }
}

extension PublishedKeySet {
    /// The largest document: 100 keys with their certificates.
    public static let bytesMax = 256 * 1024
}
