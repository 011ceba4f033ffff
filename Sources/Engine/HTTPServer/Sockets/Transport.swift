/// How a connection's bytes travel: plain, or through TLS. Used on its loop only; no call blocks.
protocol Transport: AnyObject {
    var descriptor: CInt { get }

    /// Reads the bytes that have arrived, at most `bytesMax` and the size of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer, bytesMax: Int) -> ReadResult

    /// Whether the transport holds received bytes that `read` has not returned yet; no poller reports them.
    var hasUnreadBytes: Bool { get }

    /// At least the bytes that have arrived and that `read` has not returned.
    var unreadByteCount: Int { get }

    /// Sends bytes from the front of `bytes`.
    ///
    /// - Parameter hasMore: more follows at once, so a small packet may wait for it.
    /// - Returns: how many bytes were accepted. If fewer than all, or if bytes wait for the socket afterwards, continue
    ///   when the descriptor is writable. Nil if the connection is broken.
    func write(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Int?

    /// Its state after the last call.
    var status: TransportStatus { get }

    /// The bytes that the system accepted and the peer has not acknowledged yet.
    var unacknowledgedByteCount: Int { get }

    /// The unsent bytes that the transport holds.
    var unsentByteCount: Int { get }

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
