import HTTPServer
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// The HTTP server as a service of the group: a graceful shutdown drains it, a second signal aborts it, and SIGHUP
/// reloads the certificate.
struct HTTPService: Service {
    let server: HTTPServer
    let shutdown: ShutdownFlag
    /// The time from the signal to the drain, in which the load balancer notices that `/readyz` fails.
    let drainDelay: Duration
    let logger: Logger

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await reloadAtHangUp() }
            group.addTask { await abortAtSecondSignal() }
            group.addTask { await drainAtShutdown() }
            await server.run()
            group.cancelAll()
        }
    }

    private func drainAtShutdown() async {
        do {
            try await gracefulShutdown()
            shutdown.announce()
            try await Task.sleep(for: drainDelay)
            server.drain()
        } catch {
            // Cancelled: the server has already stopped.
        }
    }

    private func reloadAtHangUp() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup) {
            do {
                try server.reloadTLS()
                logger.notice("certificate and key reloaded")
            } catch {
                logger.error("certificate not reloaded, the old one stays in use", metadata: ["error": "\(error)"])
            }
        }
    }

    /// The service group handles the first signal, which begins the drain.
    private func abortAtSecondSignal() async {
        var signals = 0
        for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
            signals += 1
            if signals == 2 { server.abort() }
        }
    }
}

/// Whether the shutdown has begun, for `/readyz`.
final class ShutdownFlag: Sendable {
    private let announced = Atomic<Bool>(false)

    var isAnnounced: Bool { announced.load(ordering: .relaxed) }

    func announce() { announced.store(true, ordering: .relaxed) }
}
