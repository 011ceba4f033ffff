import PushRegistry
import Testing

@testable import RegistryStore

@Suite("What is due is cut into stretches of the table, for a batch each")
struct CleanUpStretchesTests {
    private func stretches(
        _ found: [(Int64, Int32, Int)], batch: Int = 1_000, without refused: Set<AppNumber> = []
    ) -> [String] {
        var stretches = CleanUpStretches()
        for (block, app, count) in found { stretches.add(count, of: AppNumber(app), in: block) }
        return stretches.stretches(of: batch, without: refused).map { "\($0.pages.range): \($0.count)" }
    }

    @Test func neighbours_areTogether_asLongAsTheyFitIntoABatch() {
        #expect(stretches([(0, 1, 400), (1, 1, 600), (2, 1, 1)]) == ["0..<128: 1000", "128..<192: 1"])
    }

    @Test func pagesWithoutAnything_areLeftOutAtBothEnds_andSpannedBetween() {
        #expect(stretches([(10, 1, 1), (20, 1, 1)]) == ["640..<1344: 2"])
    }

    @Test func stretch_ends_whenItWouldHaveToReadTooMuch() {
        #expect(stretches([(0, 1, 1), (63, 1, 1), (64, 1, 1)]) == ["0..<4096: 2", "4096..<4160: 1"])
    }

    @Test func block_isOneStretch_howeverMuchIsInIt() {
        #expect(stretches([(5, 1, 900), (5, 2, 900), (6, 1, 1)]) == ["320..<384: 1800", "384..<448: 1"])
    }

    @Test func refusedApps_areNotGoneTo() {
        #expect(stretches([(0, 1, 5), (0, 2, 7), (9, 1, 5)], without: [AppNumber(1)]) == ["0..<64: 7"])
        #expect(stretches([(0, 1, 5)], without: [AppNumber(1)]).isEmpty)
    }
}

@Suite("The night job rests the longer, the busier the database is")
struct CleanUpPaceTests {
    @Test func rest_isATenth_whenABatchIsAsFastAsEver() {
        var pace = CleanUpPace()
        #expect(pace.rest(after: .milliseconds(100), for: 1_000) == .milliseconds(10))
        #expect(pace.rest(after: .milliseconds(10), for: 100) == .milliseconds(1))
    }

    @Test func rest_isLonger_byWhatABatchTookLonger() {
        var pace = CleanUpPace()
        _ = pace.rest(after: .milliseconds(100), for: 1_000)
        #expect(pace.rest(after: .milliseconds(150), for: 1_000) == .milliseconds(15))
        #expect(pace.rest(after: .milliseconds(300), for: 1_000) == .milliseconds(180))
        #expect(pace.rest(after: .seconds(60), for: 1_000) == .seconds(2))
    }
}
