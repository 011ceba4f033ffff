import CLinux
import Glibc

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
