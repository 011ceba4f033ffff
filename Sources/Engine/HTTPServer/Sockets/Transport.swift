import CLinux
import Glibc

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

/// Plain HTTP over an accepted socket, which it owns.
final class PlainTransport: Transport {
    /// -1 once closed. The kernel may give the number to another socket, which no call here may reach.
    private(set) var descriptor: CInt

    init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit { close(reset: true) }

    var hasUnreadBytes: Bool { false }
    var status: TransportStatus { TransportStatus() }
    var unsentByteCount: Int { 0 }

    func read(into buffer: UnsafeMutableRawBufferPointer, bytesMax: Int) -> ReadResult {
        let count = recv(descriptor, buffer.baseAddress, min(buffer.count, bytesMax), 0)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        return errno.isTemporary ? .blocked : .failed
    }

    func write(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Int? {
        let flags = hasMore ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL
        let count = send(descriptor, bytes.baseAddress, bytes.count, CInt(flags))
        if count >= 0 { return count }
        return errno.isTemporary ? 0 : nil
    }

    /// tcp(7), `SIOCOUTQ`.
    var unacknowledgedByteCount: Int {
        var count: CInt = 0
        return unacknowledged_bytes(descriptor, &count) == 0 ? Int(count) : 0
    }

    /// tcp(7), `FIONREAD`.
    var unreadByteCount: Int {
        var count: CInt = 0
        return unread_bytes(descriptor, &count) == 0 ? Int(count) : .max
    }

    func releaseBuffers() {}

    func finishWriting() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    func close(reset: Bool) {
        guard descriptor >= 0 else { return }
        if reset { setReset() }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// socket(7), `SO_LINGER` with a time of 0: close sends RST.
    private func setReset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

extension CInt {
    /// Whether a call on a non-blocking descriptor can be retried after this `errno`.
    fileprivate var isTemporary: Bool { self == EAGAIN || self == EWOULDBLOCK || self == EINTR }
}
