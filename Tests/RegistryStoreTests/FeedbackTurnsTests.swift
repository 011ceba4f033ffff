import EventLoop
import Testing

@testable import RegistryStore

@Suite("Feedback takes turns", .timeLimit(.minutes(1)))
struct FeedbackTurnsTests {
    /// Tasks without a preference for the loop hop to it with each call, so that one ends its turn while another is about to wait.
    @Test func waitingTurnComes_whenTheOneBeforeEndsMeanwhile() async throws {
        let loop = EventLoop(name: "turns")
        defer { loop.stop() }
        let turns = FeedbackTurns(loop: loop)
        for _ in 0..<500 {
            async let first: Void = turn(turns)
            async let second: Void = turn(turns)
            _ = try await (first, second)
        }
    }

    private func turn(_ turns: FeedbackTurns) async throws {
        try await turns.begin()
        await turns.end()
    }
}
