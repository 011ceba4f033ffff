import ArgumentParser
import EventLoop
import Foundation
import HTTPApplication
import HTTPServer
import HTTPTypes
import Logging
import StrictJSON

/// The server that the engine benchmark measures: `HTTPServer` alone, without a database and without logs.
struct EngineServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engine-server", abstract: "Serve the routes of the engine benchmark.", shouldDisplay: false)

    @Option var port: UInt16
    @Option var certificate: String?
    @Option var key: String?

    func run() async throws {
        let loops = (0..<ProcessInfo.processInfo.activeProcessorCount).map { EventLoop(name: "loop-\($0)") }
        let logger = Logger(label: "engine") { _ in SwiftLogNoOpLogHandler() }
        let server = try HTTPServer(httpConfiguration, loops: loops, logger: logger) { _ in EngineRoutes.application }
        await server.run()
    }

    private var httpConfiguration: HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: port)])
        if let certificate, let key {
            configuration.tls = TLSFiles(certificateChain: certificate, privateKey: key)
        }
        return configuration
    }
}

// GET /healthz: the service's response.
// POST /echo: decodes a registration and returns the length of its token and installation id.
/// The routes of both sides of the engine benchmark.
enum EngineRoutes {
    /// The limit of the service's registrations.
    private static let bodyBytesMax = 16 * 1024

    private static let healthy = ServerResponse(
        .ok, fields: [.contentType: "application/json"], body: .bytes(Array(#"{"status":"ok"}"#.utf8)))

    static var application: Application { Application(router: Router([health, echo])) }

    private static var health: Route {
        Route(.get, "/healthz") { _ in healthy }
    }

    private static var echo: Route {
        Route(.post, "/echo", bodyBytesMax: bodyBytesMax) { request in
            let registration = try EngineRegistration(request.body)
            var writer = JSONWriter()
            writer.object { $0.member("size", registration.size) }
            return ServerResponse(.ok, fields: [.contentType: "application/json"], body: .bytes(writer.bytes))
        }
    }
}
