import HTTPServer
import Logging
import ServiceLifecycle
import UnixSignals

/// The HTTP server under the service group: a graceful shutdown drains it, a second signal cuts it short, and SIGHUP
/// loads the certificate anew.
struct HTTPService: Service {
    let server: HTTPServer
    let logger: Logger

    func run() async throws {
        await withGracefulShutdownHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await reloadAtHangUp() }
                group.addTask { await abortAtSecondSignal() }
                await server.run()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            server.drain()
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
