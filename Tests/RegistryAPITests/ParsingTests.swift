import EventLoop
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
