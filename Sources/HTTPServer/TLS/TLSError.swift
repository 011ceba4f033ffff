import COpenSSL

/// Why TLS cannot be offered.
public struct TLSError: Error, CustomStringConvertible {
    /// What was tried: `use the private key in key.pem`.
    public let step: String
    /// libssl's reason.
    public let reason: String

    public var description: String { "cannot \(step): \(reason)" }

    /// An error with the first reason in libssl's queue of this thread, which is emptied.
    init(doing step: String) {
        let code = ERR_get_error()
        ERR_clear_error()
        self.step = step
        reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "unknown error"
    }
}
