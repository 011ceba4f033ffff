import ByteText
import Foundation
public import HTTPServer
import HTTPTypes
import HTTPWire
public import Logging
import StrictJSON
import Synchronization

/// One line for each request that is over, at info, as the log's other lines look.
///
/// It names the route's pattern and never the path, the query or a field: identifiers and tokens stay out of the log.
/// Nor does it name the client's address, which is personal data. Of JSON no value is made on the way: the line is
/// written straight into a buffer, which costs a tenth of what metadata costs.
///
/// A service with much traffic may log every nth success only. What was refused, failed, had no response, or whose
/// client went away is logged always, up to `failuresPerSecondMax`: a client must not fill the log with its own
/// mistakes.
public final class AccessLog: RequestObserver, @unchecked Sendable {
    /// Lines about requests that did not succeed, in one second. More are counted in a line of their own.
    public static let failuresPerSecondMax = 1_000

    private let label: String
    private let format: LogFormat
    private let isEnabled: Bool
    private let output: LogOutput
    private let successInterval: Int
    private let lock = NSLock()
    // Under the lock.
    private var successes = 0
    private var failures = FailureCount()
    private var buffer: [UInt8] = []
    private var renderedSecond: (second: time_t, text: [UInt8]) = (.min, [])

    /// - Parameters:
    ///   - label: names the logger in the lines.
    ///   - level: the log's; nothing is written above info.
    ///   - successInterval: of so many requests answered in full with a status below 400, one is logged.
    public init(
        label: String, format: LogFormat, level: Logger.Level = .info, output: LogOutput = .standardError,
        successInterval: Int = 1
    ) {
        precondition(successInterval > 0, "the interval of logged successes is at least 1")
        self.label = label
        self.format = format
        self.output = output
        self.successInterval = successInterval
        isEnabled = level <= .info
    }

    public func didFinish(_ request: FinishedRequest) {
        guard isEnabled else { return }
        let now = LogTime.now
        lock.withLock {
            guard isLogged(request, now) else { return }
            write(request, now)
        }
    }

    private func isLogged(_ request: FinishedRequest, _ now: LogTime) -> Bool {
        guard request.isSuccess else {
            if let suppressed = failures.begin(now.seconds) { reportSuppressed(suppressed, now) }
            return failures.admit()
        }
        successes += 1
        return successInterval == 1 || successes % successInterval == 1
    }

    private func write(_ request: FinishedRequest, _ now: LogTime) {
        switch format {
        case .json:
            buffer.removeAll(keepingCapacity: true)
            writeJSON(request, now)
            output.write(buffer)
        case .text: output.write(text("request", Self.metadata(request), now))
        }
    }

    private func reportSuppressed(_ count: Int, _ now: LogTime) {
        output.write(
            line("requests that failed were not logged: too many", ["count": .stringConvertible(count)], now))
    }
}

/// The failures of one second.
private struct FailureCount {
    private var second = time_t.min
    private var count = 0

    /// Begins to count anew in another second.
    ///
    /// - Returns: how many were not logged in the last one, if any.
    mutating func begin(_ second: time_t) -> Int? {
        guard second != self.second else { return nil }
        defer { (self.second, count) = (second, 0) }
        return count > AccessLog.failuresPerSecondMax ? count - AccessLog.failuresPerSecondMax : nil
    }

    mutating func admit() -> Bool {
        count += 1
        return count <= AccessLog.failuresPerSecondMax
    }
}

// MARK: - Lines

extension AccessLog {
    /// The same members as a line of `JSONLogHandler` with the request's metadata, in the same order.
    private func writeJSON(_ request: FinishedRequest, _ now: LogTime) {
        var taken: [UInt8] = []
        swap(&taken, &buffer)
        var writer = JSONWriter(appendingTo: taken)
        writer.object { writer in
            writer.name("time")
            writer.plainString { now.write(to: &$0, &renderedSecond) }
            writer.member("level", Logger.Level.info.rawValue)
            writer.member("logger", label)
            writer.member("message", "request")
            if !request.isComplete { writer.member("completed", false) }
            writer.name("durationMs")
            writer.number { $0.appendMilliseconds(request.duration) }
            if let head = request.head { writer.member("method", head.method.rawValue) }
            writer.member("requestBytes", request.requestBodyBytes)
            writer.name("requestId")
            writer.plainString { request.requestID.write(to: &$0) }
            writer.member("responseBytes", request.responseBodyBytes)
            writer.member("route", request.routePattern ?? RouteLabel.unmatched)
            if let status = request.status { writer.member("status", status.code) }
            if let trace = request.head.flatMap({ TraceParent($0) }) { writer.member("traceId", trace.traceID) }
        }
        buffer = writer.takeBytes()
        buffer.append(UInt8(ascii: "\n"))
    }

    private func line(_ message: String, _ metadata: Logger.Metadata, _ now: LogTime) -> [UInt8] {
        switch format {
        case .json: JSONLogHandler(label: label, output: output).render(event(message, metadata), at: now)
        case .text: text(message, metadata, now)
        }
    }

    private func text(_ message: String, _ metadata: Logger.Metadata, _ now: LogTime) -> [UInt8] {
        TextLogHandler(label: label, output: output).render(event(message, metadata), at: now)
    }

    private func event(_ message: String, _ metadata: Logger.Metadata) -> LogEvent {
        LogEvent(
            level: .info, message: "\(message)", error: nil, metadata: metadata, source: "Telemetry", file: #fileID,
            function: #function, line: #line)
    }

    private static func metadata(_ request: FinishedRequest) -> Logger.Metadata {
        var duration: [UInt8] = []
        duration.appendMilliseconds(request.duration)
        var metadata: Logger.Metadata = [
            "route": .string(request.routePattern ?? RouteLabel.unmatched),
            "requestId": .stringConvertible(request.requestID),
            "durationMs": .string(String(decoding: duration, as: UTF8.self)),
            "requestBytes": .stringConvertible(request.requestBodyBytes),
            "responseBytes": .stringConvertible(request.responseBodyBytes),
        ]
        if let status = request.status { metadata["status"] = .stringConvertible(status.code) }
        if let head = request.head {
            metadata["method"] = .string(head.method.rawValue)
            metadata["traceId"] = TraceParent(head).map { .string($0.traceID) }
        }
        if !request.isComplete { metadata["completed"] = .stringConvertible(false) }
        return metadata
    }
}

extension FinishedRequest {
    fileprivate var isSuccess: Bool {
        isComplete && (status.map { $0.code < 400 } ?? false)
    }
}

extension LogTime {
    /// Writes the moment with a second that is rendered once.
    fileprivate func write(to bytes: inout [UInt8], _ rendered: inout (second: time_t, text: [UInt8])) {
        if rendered.second != seconds {
            var text: [UInt8] = []
            LogTime(seconds: seconds, milliseconds: 0).write(to: &text)
            // Up to the point before the milliseconds.
            rendered = (seconds, Array(text.dropLast(4)))
        }
        bytes += rendered.text
        bytes.appendDecimal(UInt(milliseconds), digitsMin: 3)
        bytes.append(UInt8(ascii: "Z"))
    }
}

extension [UInt8] {
    /// Appends a duration in milliseconds, to the microsecond: `1.5`.
    fileprivate mutating func appendMilliseconds(_ duration: Duration) {
        let microseconds = UInt64(Swift.max(0, duration.wholeNanoseconds)) / 1_000
        appendDecimal(microseconds / 1_000)
        append(UInt8(ascii: "."))
        let fraction = microseconds % 1_000
        guard fraction > 0 else { return append(UInt8(ascii: "0")) }
        appendDecimal(fraction, digitsMin: 3)
        while last == UInt8(ascii: "0") { removeLast() }
    }
}
