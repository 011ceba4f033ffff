/// How a connection's bytes travel: in the clear, or through TLS. Used on its loop only; nothing here waits.
protocol Transport: AnyObject {
    var descriptor: CInt { get }

    /// Takes what has arrived, up to the size of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadResult

    /// Whether bytes were taken from the socket that `read` has not given out: no poller reports them.
    var hasUnreadBytes: Bool { get }

    /// Whether the two sides still agree on how to talk.
    var isHandshaking: Bool { get }

    /// Takes bytes to send, from the front of `bytes`.
    ///
    /// - Returns: how many were taken. Fewer than all, or `hasUnsentBytes` afterwards, means: go on when the descriptor
    ///   is writable. Nil if the connection is broken.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int?

    /// Whether bytes that `write` took, or the transport's own, still wait for the socket.
    var hasUnsentBytes: Bool { get }

    /// The bytes that the system took and that the peer has not acknowledged: they are on their way, or wait for it.
    var unacknowledgedByteCount: Int { get }

    /// Gives up memory that an idle connection does not need.
    func releaseBuffers()

    /// Tells the peer that nothing more will be sent. What it still sends can be read.
    func finishWriting()

    /// Closes the descriptor at once; afterwards every call does nothing. With `reset` the peer learns that the
    /// response is not complete, if nothing else told it.
    func close(reset: Bool)
}

enum ReadResult {
    case bytes(Int)
    /// Nothing now.
    case blocked
    /// The peer finished sending.
    case end
    case failed
}
