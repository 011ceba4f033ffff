/// How a connection's bytes travel: plain, or through TLS. Used on its loop only; no call blocks.
protocol Transport: AnyObject {
    var descriptor: CInt { get }

    /// Reads the bytes that have arrived, up to the size of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadResult

    /// Whether the transport holds received bytes that `read` has not returned yet; no poller reports them.
    var hasUnreadBytes: Bool { get }

    /// Whether the TLS handshake is not complete yet.
    var isHandshaking: Bool { get }

    /// Sends bytes from the front of `bytes`.
    ///
    /// - Returns: how many bytes were accepted. If fewer than all, or if `hasUnsentBytes` is true afterwards, continue
    ///   when the descriptor is writable. Nil if the connection is broken.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int?

    /// Whether bytes accepted by `write`, or the transport's own, still wait for the socket.
    var hasUnsentBytes: Bool { get }

    /// The bytes that the system accepted and the peer has not acknowledged yet.
    var unacknowledgedByteCount: Int { get }

    /// The bytes of received and unsent data that the transport holds, beyond those of an idle connection.
    var heldByteCount: Int { get }

    /// Frees memory that an idle connection does not need.
    func releaseBuffers()

    /// Informs the peer that nothing more will be sent. The peer may still send.
    func finishWriting()

    /// Closes the descriptor at once; all later calls do nothing. `reset` sends RST, which tells the peer that the
    /// response is incomplete.
    func close(reset: Bool)
}

enum ReadResult {
    case bytes(Int)
    /// Nothing to read now.
    case blocked
    /// The peer has finished sending.
    case end
    case failed
}
