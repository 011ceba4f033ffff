import COpenSSL

/// The reason why TLS cannot be offered.
public struct TLSError: Error, CustomStringConvertible {
    /// The step that failed: `use the private key in key.pem`.
    public let step: String
    /// libssl's reason.
    public let reason: String

    public var description: String { "cannot \(step): \(reason)" }

    /// Takes the first reason from this thread's libssl error queue, and empties the queue.
    init(doing step: String) {
        let code = ERR_get_error()
        ERR_clear_error()
        self.step = step
        reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "unknown error"
    }
}
