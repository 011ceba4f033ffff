import Glibc

/// The client's side of a connection, plain or encrypted; owns its descriptor.
protocol LoadChannel: Sendable {
    var descriptor: CInt { get }

    /// Sends a whole small request, like send(2).
    func send(_ bytes: UnsafeRawBufferPointer) -> Int

    /// Like recv(2): 0 at the end, -1 with `errno` EAGAIN if there is nothing now.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Whether bytes were received into memory that epoll does not report.
    var hasUnreadBytes: Bool { get }

    func close()
}

extension LoadChannel {
    /// Sends one request on a blocking channel, and reads the response, which must arrive in one piece. **Blocks**.
    ///
    /// - Returns: the number of bytes of the response.
    @discardableResult
    func exchange(_ request: [UInt8], into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard request.withUnsafeBytes({ send($0) }) == request.count else {
            throw Loopback.Failure(what: "the request was not sent")
        }
        let received = receive(into: buffer)
        guard received > 0 else { throw Loopback.Failure(what: "no response") }
        return received
    }

    func setNonBlocking() {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
}

/// Opens a channel on a connected, blocking descriptor.
typealias OpenLoadChannel = @Sendable (CInt) throws -> any LoadChannel

/// A channel without encryption.
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
