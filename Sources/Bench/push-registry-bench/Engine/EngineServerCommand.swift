import ArgumentParser
import EventLoop
import Foundation
import HTTPServer
import Logging

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
