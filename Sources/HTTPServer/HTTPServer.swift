public import EventLoop
public import Logging
import Synchronization

/// An HTTP/1.1 server on event loops.
///
/// Each loop has its own listening sockets, its own application and its own connections; a connection and the handlers
/// of its requests never leave the loop that accepted it.
public final class HTTPServer: Sendable {
    private let servers: [LoopServer]
    private let sockets: Mutex<[[ListeningSocket]]>
    private let tls: ReloadableTLSContext?
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
        let tls = try configuration.tls.map { try ReloadableTLSContext($0, logger: logger) }
        self.tls = tls
        let opened =
            configuration.inheritedSockets.isEmpty
            ? try configuration.addresses.flatMap { try ListeningSocket.open($0, count: loops.count) }
            : try configuration.inheritedSockets.map { try ListeningSocket.share($0, count: loops.count) }
        addresses = opened.map { $0[0].address }
        sockets = Mutex(opened)
        let limits = ConnectionLimits(configuration)
        self.limits = limits
        let shared = LoopServer.Shared(
            configuration: configuration, limits: limits, tls: tls, logger: logger, makeApplication: makeApplication)
        servers = loops.map { LoopServer($0, shared) }
    }

    /// The port of the first address.
    public var port: UInt16 { addresses[0].port }

    /// The open connections on all loops, for a gauge.
    public var connectionCount: Int { limits.count }

    /// Serves until its task is cancelled, or `drain` or `abort` is called, and then until the last request in flight
    /// is answered, at most for the drain deadline, and the last handler has ended. Call it once.
    public func run() async {
        // Cancellation means drain. It must not reach the handlers, which are children of this task of its own.
        let serving = Task {
            await withDiscardingTaskGroup { group in
                for (server, sockets) in zip(servers, takeSockets()) {
                    group.addTask(executorPreference: server.loop) { await server.run(sockets) }
                }
            }
        }
        await withTaskCancellationHandler {
            await serving.value
        } onCancel: {
            drain()
        }
    }

    /// The listening sockets of each loop, which is their owner from now on.
    private func takeSockets() -> [[ListeningSocket]] {
        sockets.withLock { sockets in
            defer { sockets = [] }
            return servers.indices.map { index in sockets.map { $0[index] } }
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
