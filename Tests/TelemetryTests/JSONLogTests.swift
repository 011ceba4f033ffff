import Basics
import Foundation
import Logging
import Testing

@testable import Telemetry

@Suite("Every JSON log line is one object")
struct JSONLogTests {
    @Test func line_containsAllMetadata() {
        var handler = JSONLogHandler(label: "http")
        handler.metadata = ["pool": "a", "status": "unset"]
        handler.metadataProvider = Logger.MetadataProvider { ["traceId": "t"] }
        let metadata: Logger.Metadata = [
            "status": .stringConvertible(200), "completed": .stringConvertible(false), "ratio": .stringConvertible(0.5),
            "message": "own", "tags": ["a", ["b": "c"]],
        ]
        #expect(
            text(handler, .make("a \"b\"\\\n\u{1}\u{7F}ü", metadata: metadata)) == """
                {"time":"2025-01-31T09:05:07.042Z","level":"info","logger":"http",\
                "message":"a \\"b\\"\\\\\\n\\u0001\\u007fü","completed":false,"message_":"own",\
                "pool":"a","ratio":0.5,"status":200,"tags":["a",{"b":"c"}],"traceId":"t"}

                """)
    }

    @Test func error_isMetadata_whenTheEventHasOne() throws {
        struct Failure: Error, CustomStringConvertible { let description = "no room" }
        #expect(try object(.make(error: Failure()))["error"] as? String == "no room")
        #expect(try object(.make(error: Failure(), metadata: ["error": "own"]))["error"] as? String == "own")
    }

    @Test func value_isCutBetweenCharacters_whenItIsTooLong() throws {
        let handler = JSONLogHandler(label: "l", valueBytesMax: 9)
        let event = LogEvent.make("üüüüüüüü", metadata: ["short": "abc", "long": ["1234", "5678", "9"]])
        let object = try object(event, handler)
        #expect(object["message"] as? String == "üüüü…")
        #expect(object["short"] as? String == "abc")
        #expect(object["long"] as? [String] == ["1234", "…", "…"])
    }

    @Test func line_isBounded_whenEverythingIsTooLong() throws {
        let long = String(repeating: "\u{1}", count: 1 << 20)
        let many = Logger.MetadataValue.array(Array(repeating: .string(long), count: 1_000))
        let line = JSONLogHandler(label: "l").render(
            .make(long, metadata: ["a": .string(long), "b": many]), at: .sample)
        #expect(line.count < 3 * 4_096 + 300)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line)) }
    }

    @Test(arguments: 0..<4)
    func line_parses_whateverTheMessageIs(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let (message, key, value) = (noise(&generator), noise(&generator), noise(&generator))
            let object = try object(
                .make(message, metadata: [key: .string(value), "n": [.string(value), [key: "v"]]]))
            #expect(object["message"] as? String == message)
            #expect(object[key] as? String == value || Self.ownKeys.contains(key))
        }
    }

    @Test func byteOrderMark_isKept_afterAnEscape() {
        #expect(text(JSONLogHandler(label: "l"), .make("\n\u{FEFF}a")).utf8.contains("\\n\u{FEFF}a".utf8))
    }

    @Test func linesDoNotMix_whenManyThreadsLog() throws {
        let sink = LogSink()
        let logger = Logger(label: "l") { JSONLogHandler(label: $0, output: sink.output) }
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for index in 0..<10 { logger.info("line\n\(index)", metadata: ["thread": "\(thread)"]) }
        }
        let lines = sink.lines()
        #expect(lines.count == 40)
        for line in lines {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        }
    }

    @Test(arguments: [
        (0, 0, "1970-01-01T00:00:00.000Z"), (951_782_400, 7, "2000-02-29T00:00:00.007Z"),
        (4_102_444_799, 999, "2099-12-31T23:59:59.999Z"),
    ])
    func time_isRFC3339InUTC(_ seconds: Int, _ milliseconds: Int, _ text: String) {
        var bytes: [UInt8] = []
        LogTime(seconds: seconds, milliseconds: milliseconds).write(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    private static let ownKeys = ["time", "level", "logger", "message"]

    private func text(_ handler: JSONLogHandler, _ event: LogEvent) -> String {
        String(decoding: handler.render(event, at: .sample), as: UTF8.self)
    }

    private func object(
        _ event: LogEvent, _ handler: JSONLogHandler = JSONLogHandler(label: "l")
    ) throws -> [String: Any] {
        let line = handler.render(event, at: .sample)
        #expect(line.last == UInt8(ascii: "\n") && line.count { $0 == UInt8(ascii: "\n") } == 1)
        return try #require(JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
    }

    /// Text of random scalars, most of which need escapes.
    private func noise(_ generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...40, using: &generator) {
            let bits = [5, 7, 8, 11, 16, 21].randomElement(using: &generator)!
            let scalar = Unicode.Scalar(UInt32.random(in: 0..<(1 << bits), using: &generator))
            // Foundation loses a byte order mark directly after an escape.
            if let scalar, scalar != "\u{FEFF}" { text.append(scalar) }
        }
        return String(text)
    }
}
