import Basics
import EventLoop
import Glibc
import HTTPWire
import Logging

@testable import HTTPApplication
@testable import HTTPServer

/// A connection over a socket pair, without a server: the test decides in which turn of the loop it is ready.
final class PairedConnection: Sendable {
    /// Small, so that a response soon waits for its reader.
    private static let sendBufferBytes: CInt = 4_096

    let loop = EventLoop(name: "paired")
    let context: LoopContext
    private let connection: HTTPConnection
    /// The client's end.
    private let peer: CInt

    init(_ routes: [Route]) {
        var ends: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "no socket pair: errno \(errno)")
        var size = Self.sendBufferBytes
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        peer = ends[1]
        context = LoopContext(
            loop: loop, configuration: HTTPServerConfiguration(addresses: []),
            application: Application(router: Router(routes)),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        connection = HTTPConnection(
            PlainTransport(descriptor: ends[0]), address: SocketAddress(ip: IPAddress(in_addr()), port: 1),
            context: context, onClose: { _ in })
    }

    deinit {
        close(peer)
        loop.stop()
    }

    /// Runs `body` on the loop after `turns` turns of its job queue.
    func execute(afterTurns turns: Int = 0, _ body: @escaping @Sendable () -> Void) {
        loop.execute { turns == 0 ? body() : self.execute(afterTurns: turns - 1, body) }
    }

    /// The client sends a request, and the connection is notified. Call it on the loop.
    func receive(_ path: String) {
        let request = Array("GET \(path) HTTP/1.1\r\nHost: t\r\n\r\n".utf8)
        send(peer, request, request.count, CInt(MSG_NOSIGNAL))
        connection.descriptorIsReady(.readable)
    }

    /// Reads, in each turn of the loop, all that the connection sends.
    ///
    /// - Returns: the text up to and including `end`.
    func text(until end: String) async -> String {
        await withCheckedContinuation { continuation in
            execute { self.read([], Array(end.utf8)) { continuation.resume(returning: $0) } }
        }
    }

    private func read(_ earlier: [UInt8], _ end: [UInt8], _ done: @escaping @Sendable (String) -> Void) {
        var bytes = earlier
        while appendReceived(to: &bytes) { connection.descriptorIsReady(.writable) }
        guard bytes.suffix(end.count) != end[...] else { return done(String(decoding: bytes, as: UTF8.self)) }
        let read = bytes
        execute { self.read(read, end, done) }
    }

    private func appendReceived(to bytes: inout [UInt8]) -> Bool {
        var piece = [UInt8](repeating: 0, count: 64 * 1_024)
        let count = recv(peer, &piece, piece.count, 0)
        if count > 0 { bytes += piece[..<count] }
        return count > 0
    }
}

extension RequestHead {
    /// The parsed head of a GET request.
    static func make(_ method: String = "GET", target: String = "/", fields: [String] = []) throws -> RequestHead {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: t"] + fields
        var parser = RequestParser()
        parser.append(Array(lines.map { "\($0)\r\n" }.joined().utf8) + Array("\r\n".utf8))
        guard case .head(let head)? = try parser.nextEvent() else { throw CancellationError() }
        return head
    }
}
