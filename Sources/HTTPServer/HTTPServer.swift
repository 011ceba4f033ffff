public import EventLoop
public import Logging
import Synchronization

/// An HTTP/1.1 server on event loops.
///
/// Each loop has its own listening sockets, its own application and its own connections; a connection and the handlers
/// of its requests never leave the loop that accepted it.
public final class HTTPServer: Sendable {
    private let servers: [LoopServer]
    private let sockets: SocketShelf
    private let tls: TLSIdentity?
    private let limits: ConnectionLimits

    /// Where the server listens, with the ports that the system chose.
    public let addresses: [SocketAddress]

    /// Binds and listens: clients can connect from now on, and are served once `run` is called.
    ///
    /// - Parameter makeApplication: called once for each loop, on that loop.
    /// - Throws: `ListenError` for an address that is taken or does not exist, `InheritedSocketError`, `TLSError` for a
    ///   certificate or key that cannot be used.
    public init(
        _ configuration: HTTPServerConfiguration, loops: [EventLoop], logger: Logger,
        makeApplication: @escaping @Sendable (EventLoop) -> Application
    ) throws {
        precondition(!loops.isEmpty, "a server needs an event loop")
        let tls = try configuration.tls.map { try TLSIdentity($0) }
        self.tls = tls
        let opened =
            configuration.inheritedSockets.isEmpty
            ? try configuration.addresses.flatMap { try ListeningSocket.open($0, count: loops.count) }
            : try configuration.inheritedSockets.map { try ListeningSocket.share($0, count: loops.count) }
        addresses = opened.map { $0[0].address }
        sockets = SocketShelf(opened)
        let limits = ConnectionLimits(configuration)
        self.limits = limits
        servers = loops.map { loop in
            LoopServer(loop, configuration, limits, tls, logger, makeApplication)
        }
    }

    /// The port of the first address.
    public var port: UInt16 { addresses[0].port }

    /// The open connections on all loops, for a gauge.
    public var connectionCount: Int { limits.count }

    /// Serves until its task is cancelled, or `drain` or `abort` is called, and then until the last request in flight
    /// is answered, at most for the drain deadline. Call it once.
    public func run() async {
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                for (index, server) in servers.enumerated() {
                    let sockets = sockets.take(index)
                    group.addTask { await server.run(sockets) }
                }
            }
        } onCancel: {
            drain()
        }
    }

    /// Reads the certificate and its key again, for connections from now on. If they cannot be used, the old ones stay.
    public func reloadTLS() throws {
        try tls?.reload()
    }

    /// Stops gracefully: accepts no more, finishes what is in flight, closes what is idle.
    public func drain() {
        for server in servers {
            server.loop.execute { server.assumeIsolated { $0.drain() } }
        }
    }

    /// Stops at once; requests in flight are cut.
    public func abort() {
        for server in servers {
            server.loop.execute { server.assumeIsolated { $0.abort() } }
        }
    }
}

/// The listening sockets until the loops take them over, each the ones of its index.
private final class SocketShelf: Sendable {
    private let sockets: Mutex<[[ListeningSocket]]>

    init(_ sockets: [[ListeningSocket]]) {
        self.sockets = Mutex(sockets)
    }

    func take(_ index: Int) -> [ListeningSocket] {
        sockets.withLock { sockets in
            sockets.indices.compactMap { sockets[$0].isEmpty ? nil : sockets[$0].removeLast() }
        }
    }
}
