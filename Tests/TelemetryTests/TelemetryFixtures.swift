import Basics
import Glibc
import HTTPTypes
import HTTPWire
import Logging
import Testing

@testable import HTTPApplication
@testable import Telemetry

extension FinishedRequest {
    /// A successful registration by default.
    static func make(
        head: RequestHead? = .make(), route: String? = "/v1/apps/{app}/installations/{installId}", status: Int? = 200,
        duration: Duration = .microseconds(1_500), isComplete: Bool = true
    ) -> FinishedRequest {
        FinishedRequest(
            head: head, routePattern: route, requestID: .received("r-1"), clientAddress: IPAddress("192.0.2.1")!,
            status: status.map { HTTPResponse.Status(code: $0) }, duration: duration, requestBodyBytes: 12,
            responseBodyBytes: 345, isComplete: isComplete)
    }
}

extension RequestHead {
    static func make(_ method: String = "PUT", fields: [String] = []) -> RequestHead {
        var parser = RequestParser()
        let lines = ["\(method) /v1/apps/a/installations/secret HTTP/1.1", "Host: a.example"] + fields
        parser.append(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        guard case .head(let head)? = try? parser.nextEvent() else { preconditionFailure("no request: \(lines)") }
        return head
    }
}

extension PrometheusRegistry {
    var text: String { String(decoding: render(), as: UTF8.self) }

    /// The lines of one metric, comments included.
    func lines(of name: String) -> [String] {
        text.split(separator: "\n").map(String.init).filter { line in
            line.hasPrefix(name) || line.hasPrefix("# HELP \(name) ") || line.hasPrefix("# TYPE \(name) ")
        }
    }
}

/// Receives log lines through a pipe.
final class LogSink: Sendable {
    let output: LogOutput
    private nonisolated(unsafe) var descriptor: CInt

    init() {
        signal(SIGPIPE, SIG_IGN)
        var pair: [CInt] = [0, 0]
        let result = pipe(&pair)
        precondition(result == 0, "pipe failed")
        _ = fcntl(pair[0], F_SETFL, O_NONBLOCK)
        output = LogOutput(descriptor: pair[1])
        descriptor = pair[0]
    }

    /// The output's end stays open: its thread may still write, and must not write to a reused descriptor.
    deinit { close(descriptor) }

    /// The lines since the last call, each with its line feed.
    func lines() -> [String] {
        var text = ""
        let deadline = ContinuousClock.now + .seconds(60)
        while !output.flush(within: .milliseconds(1)), ContinuousClock.now < deadline { text += read() }
        text += read()
        return text.split(separator: "\n").map { "\($0)\n" }
    }

    /// The bytes in the pipe.
    func read() -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }

    /// Closes the reader's end.
    func closeReader() {
        close(descriptor)
        descriptor = -1
    }
}

extension LogTime {
    /// 2025-01-31T09:05:07.042Z.
    static let sample = LogTime(seconds: 1_738_314_307, milliseconds: 42)
}

extension LogEvent {
    static func make(
        _ message: String = "request", level: Logger.Level = .info, error: (any Error)? = nil,
        metadata: Logger.Metadata? = nil
    ) -> LogEvent {
        LogEvent(
            level: level, message: Logger.Message(stringLiteral: message), error: error, metadata: metadata,
            source: "HTTPServer", file: #fileID, function: #function, line: #line)
    }
}
