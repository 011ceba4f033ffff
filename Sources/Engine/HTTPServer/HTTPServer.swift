import Basics
public import EventLoop
import HTTPApplication
public import Logging

/// An HTTP/1.1 server on event loops.
///
/// Each loop has its own listening sockets, its own application and its own connections. A loop with many connections
/// passes new ones on; from then on a connection and the handlers of its requests never leave their loop.
public final class HTTPServer: Sendable {
    private let workers: [ServerWorker]
    private let sockets: Locked<[[ListeningSocket]]>
    private let tls: ReloadableTLSContext?
    private let limits: ConnectionLimits

    /// The addresses that the server listens at, with the ports that the system chose.
    public let addresses: [SocketAddress]

    /// Binds and listens. Clients can connect from now on; `run` serves them. Blocks while host names are resolved.
    ///
    /// - Parameter makeApplication: called once for each loop, on that loop.
    /// - Throws: `ListenError` if an address is in use or does not exist, `InheritedSocketError`, `TLSError` if the
    ///   certificate or key cannot be used.
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
        sockets = Locked(opened)
        let limits = ConnectionLimits(configuration, loopCount: loops.count)
        self.limits = limits
        let shared = ServerWorker.Shared(
            configuration: configuration, limits: limits, tls: tls, forwarding: UntrustedForwarding(logger: logger),
            logger: logger, makeApplication: makeApplication)
        workers = loops.enumerated().map { ServerWorker($1, number: $0, shared) }
    }

    /// The port of the first address.
    public var port: UInt16 { addresses[0].port }

    /// The open connections on all loops, for a gauge.
    public var connectionCount: Int { limits.count }

    /// Serves until its task is cancelled, or `drain` or `abort` is called. Then waits for the requests in flight, for
    /// the drain deadline at most, and returns when the last handler has ended. Call it once.
    public func run() async {
        // Cancelling this task drains. It must not cancel the handlers, so they are children of another task.
        let serving = Task {
            await withDiscardingTaskGroup { group in
                for (index, sockets) in takeSockets().enumerated() {
                    let worker = workers[index]
                    group.addTask(executorPreference: worker.loop) { [workers] in
                        await worker.run(sockets, among: workers)
                    }
                }
            }
        }
        await withTaskCancellationHandler {
            await serving.value
        } onCancel: {
            drain()
        }
    }

    /// Moves the listening sockets of each loop out of this object; the caller owns them.
    private func takeSockets() -> [[ListeningSocket]] {
        sockets.withLock { sockets in
            defer { sockets = [] }
            return workers.indices.map { index in sockets.map { $0[index] } }
        }
    }

    /// Reads the certificate and its key again, for new connections. Does nothing without TLS. It reads files, so do
    /// not call it on an event loop.
    ///
    /// - Throws: `TLSError` if they cannot be used; the old ones then stay in use.
    public func reloadTLS() throws {
        try tls?.reload()
    }

    /// Stops gracefully: accepts no more connections, finishes the requests in flight, closes idle connections. Any
    /// thread may call it; it does not wait.
    public func drain() {
        for worker in workers {
            worker.loop.execute { worker.assumeIsolated { $0.drain() } }
        }
    }

    /// Stops at once and cuts the requests in flight. Any thread may call it; it does not wait.
    public func abort() {
        for worker in workers {
            worker.loop.execute { worker.assumeIsolated { $0.abort() } }
        }
    }
}
