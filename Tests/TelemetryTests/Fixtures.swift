import Glibc
import HTTPTypes
import HTTPWire
import Logging
import Testing

@testable import HTTPServer
@testable import Telemetry

extension FinishedRequest {
    /// A registration that went well, but for what the test says.
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

/// Takes log lines: a socket that keeps the border between one write(2) and the next.
final class LogSink: Sendable {
    let output: LogOutput
    private let descriptor: CInt

    init() {
        var pair: [CInt] = [0, 0]
        let result = socketpair(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue), 0, &pair)
        precondition(result == 0, "socketpair failed")
        output = LogOutput(descriptor: pair[0])
        descriptor = pair[1]
    }

    deinit {
        close(output.descriptor)
        close(descriptor)
    }

    /// What each write since the last call was given.
    func writes() -> [String] {
        var writes: [String] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
            guard count > 0 else { return writes }
            writes.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
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
