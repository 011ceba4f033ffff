import EventLoop
import HTTPApplication
import HTTPServer
import Logging
import RegistryTestSupport
import Testing

@testable import RegistryAPI

@Suite("A large body is parsed off the loop")
struct ParsingTests {
    @Test(arguments: [(1, true), (32 * 1_024, true), (32 * 1_024 + 1, false), (1_024 * 1_024, false)])
    func parsingStaysOnTheLoop_onlyWhileTheBodyIsSmall(byteCount: Int, staysOnLoop: Bool) async throws {
        let loop = EventLoop(name: "busy")
        defer { loop.stop() }
        try await withTaskExecutorPreference(loop) {
            let isOnLoop = try await parsing(byteCount) { loop.isCurrent }
            #expect(isOnLoop == staysOnLoop)
        }
    }
}

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
        ) { _ in service.application(observers: []) }
        async let running: Void = server.run()
        defer { server.abort() }
        let response = try await HTTPClient(port: server.port).response(to: .make("GET", "/metrics", key: nil))
        #expect(response.status == 200 && response.text == "off the loop")
        server.abort()
        await running
    }
}
