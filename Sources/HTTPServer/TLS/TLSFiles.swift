/// The server's certificate and key, as PEM files.
public struct TLSFiles: Sendable {
    /// The certificate, followed by the intermediate certificates between it and the root.
    public var certificateChain: String
    public var privateKey: String

    public init(certificateChain: String, privateKey: String) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }
}
