import Logging
import Testing

@testable import Telemetry

@Suite("A text log line is readable and cannot be forged")
struct TextLogTests {
    let handler = TextLogHandler(label: "http", usesColor: false)

    @Test func line_isShort_whenAllIsPlain() {
        let event = LogEvent.make(metadata: ["route": "/v1/{app}", "status": .stringConvertible(200), "why": "a b"])
        #expect(
            text(handler, event)
                == "2025-01-31T09:05:07.042Z INFO  http: request route=/v1/{app} status=200 why=\"a b\"\n")
    }

    @Test(arguments: [
        ("a\nb", "a\\nb"), ("\u{1B}[31m", "\\u{1b}[31m"), ("\u{9B}1m", "\\u{9b}1m"), ("a\u{202E}b", "a\\u{202e}b"),
        ("a\u{2028}b\r", "a\\u{2028}b\\u{d}"), ("Größe 🦊", "Größe 🦊"),
    ])
    func controlCharacters_areEscaped(_ message: String, _ shown: String) {
        #expect(text(handler, .make(message)).hasSuffix(" http: \(shown)\n"))
        #expect(text(handler, .make(metadata: ["k": .string(message)])).hasSuffix(" k=\"\(shown)\"\n"))
    }

    @Test(arguments: [
        ("", "\"\""), ("a=b", "\"a=b\""), ("a\"b\\", "\"a\\\"b\\\\\""), ("a-b", "a-b"),
    ])
    func value_isQuoted_whenItsEndsAreAmbiguous(_ value: String, _ shown: String) {
        #expect(text(handler, .make(metadata: ["k": .string(value)])).hasSuffix(" k=\(shown)\n"))
    }

    @Test func value_isCutBetweenCharacters_whenItIsTooLong() {
        let handler = TextLogHandler(label: "l", valueBytesMax: 5, usesColor: false)
        #expect(text(handler, .make("üüüüü", metadata: ["k": "123456"])).hasSuffix("l: üüü… k=12345…\n"))
    }

    @Test func line_hasNoColor_whenTheOutputIsNotATerminal() {
        let sink = LogSink()
        let logger = Logger(label: "l") { TextLogHandler(label: $0, output: sink.output) }
        logger.warning("careful")
        #expect(sink.lines().first?.hasSuffix("Z WARN  l: careful\n") == true)
    }

    @Test func level_isColored_whenWanted() {
        let line = text(TextLogHandler(label: "l", usesColor: true), .make(level: .error))
        #expect(line.contains("\u{1B}[31mERROR\u{1B}[0m"))
    }

    @Test func colors_areOff_whenNoColorIsSetOrThereIsNoTerminal() {
        #expect(TextLogHandler.wantsColor(isTerminal: true, noColor: nil))
        #expect(TextLogHandler.wantsColor(isTerminal: true, noColor: ""))
        #expect(!TextLogHandler.wantsColor(isTerminal: true, noColor: "1"))
        #expect(!TextLogHandler.wantsColor(isTerminal: false, noColor: nil))
    }

    @Test func format_createsItsHandler() {
        #expect(LogFormat.text.makeHandler(label: "l") is TextLogHandler)
        let handler = LogFormat(rawValue: "json")?.makeHandler(label: "l", level: .debug)
        #expect(handler is JSONLogHandler && handler?.logLevel == .debug)
    }

    private func text(_ handler: TextLogHandler, _ event: LogEvent) -> String {
        String(decoding: handler.render(event, at: .sample), as: UTF8.self)
    }
}
