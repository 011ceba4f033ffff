import Foundation
import Glibc
import Logging
import Testing

@testable import Telemetry

@Suite("A slow or missing log reader delays no other work", .timeLimit(.minutes(5)))
struct LogOutputTests {
    private let line = Array((String(repeating: "x", count: 999) + "\n").utf8)

    @Test func writingNeverBlocks_whenThereIsNoReader() {
        let sink = LogSink()
        let count = 3 * LogOutput.queueBytesMax / line.count
        for _ in 0..<count { sink.output.write(line) }
        #expect(sink.output.droppedLineCount > 0)
        // Only the queue, the lines that the thread has taken, and the pipe are kept.
        #expect(sink.output.droppedLineCount < count)
    }

    @Test func dropsAreReported_whenTheReaderContinues() throws {
        let sink = LogSink()
        while sink.output.droppedLineCount == 0 { sink.output.write(line) }
        let dropped = sink.output.droppedLineCount
        var text = ""
        let deadline = ContinuousClock.now + .seconds(60)
        while !text.contains("log lines were dropped"), ContinuousClock.now < deadline { text += sink.read() }
        let report = try #require(text.split(separator: "\n").last { $0.contains("log lines were dropped") })
        #expect(report.contains(#""count":\#(dropped)"#) && report.contains(#""level":"warning""#))
    }

    @Test func processSurvives_whenTheReaderDies() async {
        await #expect(processExitsWith: .success) {
            let sink = LogSink()
            sink.closeReader()
            sink.output.write(Array("lost\n".utf8))
            sink.output.flush(within: .seconds(60))
            #expect(sink.output.droppedLineCount == 1)
        }
    }

    @Test func linesAreWhole_whenTheDescriptorDoesNotBlock() {
        let sink = LogSink()
        _ = fcntl(sink.output.descriptor, F_SETFL, O_NONBLOCK)
        let count = 500
        for _ in 0..<count { sink.output.write(line) }
        var lines: [Substring] = []
        var text = ""
        let deadline = ContinuousClock.now + .seconds(60)
        while lines.count < count, ContinuousClock.now < deadline {
            text += sink.read()
            lines = text.split(separator: "\n")
        }
        #expect(lines.count == count && lines.allSatisfy { $0.utf8.count == 999 })
    }
}
