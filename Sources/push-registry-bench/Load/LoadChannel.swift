import Glibc

/// A client's side of a connection, in the clear or encrypted; the owner of its descriptor.
protocol LoadChannel: Sendable {
    var descriptor: CInt { get }

    /// Sends all of a small request, like send(2).
    func send(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Like recv(2): 0 at the end, -1 with `errno` EAGAIN if there is nothing now.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Bytes were received that epoll does not tell of: they are in memory already.
    var hasUnreadBytes: Bool { get }

    func close()
}

extension LoadChannel {
    /// Sends one request on a channel that waits, and takes the answer, which comes in one piece. **Blocks**.
    ///
    /// - Returns: the bytes of the answer.
    @discardableResult
    func exchange(_ request: [UInt8], into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard request.withUnsafeBytes({ send($0) }) == request.count else { throw Loopback.Failure(what: "not sent") }
        let received = receive(into: buffer)
        guard received > 0 else { throw Loopback.Failure(what: "no answer") }
        return received
    }

    func stopWaiting() {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
}

/// Makes a connection ready to send on, given a connected descriptor that waits.
typealias OpenLoadChannel = @Sendable (CInt) throws -> any LoadChannel

/// The socket itself.
struct PlainChannel: LoadChannel {
    let descriptor: CInt

    var hasUnreadBytes: Bool { false }

    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
    }

    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        recv(descriptor, buffer.baseAddress, buffer.count, 0)
    }

    func close() { _ = Glibc.close(descriptor) }
}
