import HTTPServer
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// The HTTP server under the service group: a graceful shutdown drains it, a second signal cuts it short, and SIGHUP
/// loads the certificate anew.
struct HTTPService: Service {
    let server: HTTPServer
    let departure: Departure
    /// From the signal to the drain: a load balancer takes that long to notice that it is not to send any more.
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
            departure.announce()
            try await Task.sleep(for: drainDelay)
            server.drain()
        } catch {
            // Cancelled: the server has ended.
        }
    }

    private func reloadAtHangUp() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup) {
            do {
                try server.reloadTLS()
                logger.notice("certificate and key loaded anew")
            } catch {
                logger.error("the certificate in use stays", metadata: ["error": "\(error)"])
            }
        }
    }

    /// The service group takes the first signal for the beginning of the drain.
    private func abortAtSecondSignal() async {
        var signals = 0
        for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
            signals += 1
            if signals == 2 { server.abort() }
        }
    }
}

/// Whether the service was told to stop: known to `readyz` from then on.
final class Departure: Sendable {
    private let announced = Atomic<Bool>(false)

    var isAnnounced: Bool { announced.load(ordering: .relaxed) }

    func announce() { announced.store(true, ordering: .relaxed) }
}
