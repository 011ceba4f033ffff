/// The part of an installation that a verdict on its token reads or changes.
///
/// A call may concern 10,000 of them, so the whole `Installation` would be too large.
public struct JudgedInstallation: Hashable, Sendable {
    public let installID: InstallID
    public let provider: Provider
    public var tokenSHA256: [UInt8]?
    public var state: InstallationState
    public var generation: Int64
    /// The generation after the last registration.
    public let registrationGeneration: Int64
    /// R5: the app was reinstalled.
    public let isProbablyReplaced: Bool
    /// When a registration was last recorded.
    public let lastSeenAt: Timestamp

    public init(
        installID: InstallID, provider: Provider, tokenSHA256: [UInt8]?, state: InstallationState,
        generation: Int64, registrationGeneration: Int64, isProbablyReplaced: Bool, lastSeenAt: Timestamp
    ) {
        self.installID = installID
        self.provider = provider
        self.tokenSHA256 = tokenSHA256
        self.state = state
        self.generation = generation
        self.registrationGeneration = registrationGeneration
        self.isProbablyReplaced = isProbablyReplaced
        self.lastSeenAt = lastSeenAt
    }

    /// Nil if it holds no token.
    public func address(in app: AppNumber) -> TokenAddress? {
        tokenSHA256.map { TokenAddress(app: app, provider: provider, sha256: $0) }
    }
}
