/// The server's certificate and key, as PEM files.
public struct TLSFiles: Sendable {
    /// The file of the certificate, followed by the intermediate certificates between it and the root.
    public var certificateChain: String
    /// The file of the key that belongs to the first certificate.
    public var privateKey: String

    /// Paths only: `HTTPServer.init` and `HTTPServer.reloadTLS` read the files.
    public init(certificateChain: String, privateKey: String) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
    }
}
