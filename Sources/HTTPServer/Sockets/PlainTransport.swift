import Glibc

/// The owner of an accepted socket, whose bytes are those of HTTP.
final class PlainTransport: Transport {
    let descriptor: CInt
    private var isClosed = false

    init(descriptor: CInt) {
        self.descriptor = descriptor
    }

    deinit { close(reset: true) }

    var hasUnreadBytes: Bool { false }
    var hasUnsentBytes: Bool { false }
    var isHandshaking: Bool { false }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> ReadResult {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 { return .bytes(count) }
        if count == 0 { return .end }
        return errno.meansLater ? .blocked : .failed
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let count = send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
        if count >= 0 { return count }
        return errno.meansLater ? 0 : nil
    }

    func finishWriting() {
        shutdown(descriptor, CInt(SHUT_WR))
    }

    func close(reset: Bool) {
        guard !isClosed else { return }
        isClosed = true
        if reset { setReset() }
        Glibc.close(descriptor)
    }

    /// socket(7), `SO_LINGER` with a time of 0: close sends RST.
    private func setReset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

extension CInt {
    /// Whether a call on a non-blocking descriptor failed with this `errno` only for now.
    fileprivate var meansLater: Bool { self == EAGAIN || self == EWOULDBLOCK || self == EINTR }
}
