import EventLoop
import HTTPApplication
import HTTPServer
import Logging
import RegistryTestSupport
import Testing

@testable import RegistryAPI

@Suite("Metrics are rendered off the event loop, whose other requests would wait")
struct MetricsTextTests {
    @Test func collector_runsOnAnotherThread() async throws {
        let loop = EventLoop(name: "metrics")
        defer { loop.stop() }
        let service = try RegistryAPI.RegistryService.withoutDatabase(on: loop) {
            Array((loop.isCurrent ? "on the loop" : "off the loop").utf8)
        }
        let server = try HTTPServer(
            HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: 0)]), loops: [loop],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in service.application(observer: nil) }
        async let running: Void = server.run()
        defer { server.abort() }
        let response = try await HTTPClient(port: server.port).response(to: .make("GET", "/metrics", key: nil))
        #expect(response.status == 200 && response.text == "off the loop")
        server.abort()
        await running
    }
}
