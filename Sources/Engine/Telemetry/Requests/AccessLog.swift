import Basics
import Glibc
public import HTTPApplication
import HTTPTypes
public import HTTPWire
public import Logging
import StrictJSON

/// Writes one line for each finished request, at level info, in the format of the other log lines.
///
/// A line has the route's pattern and never the path, the query or a field, so that identifiers and tokens stay out of
/// the log. It has no client address, which is personal data. JSON is written straight into a buffer, which costs a
/// tenth of building metadata.
///
/// A busy service may log every nth success only. Every unsuccessful request is logged. These, and requests that
/// anybody may send, are at most `strangersPerSecondMax` a second: nobody must be able to fill the log.
public final class AccessLog: RequestObserver {
    /// Lines about unsuccessful requests and those of anybody, in one second. Further ones are counted, and the count
    /// is logged.
    public static let strangersPerSecondMax = 1_000

    private let label: String
    /// The members of a JSON line that are the same in each.
    private let fixedMembers: [UInt8]
    private let format: LogFormat
    private let isEnabled: Bool
    private let output: LogOutput
    private let lane: LogLane
    private let successInterval: Int
    private let isOfAnybody: @Sendable (_ routePattern: String) -> Bool
    private let state = Locked(State())

    private struct State {
        var successes = 0
        var strangers = StrangerCount()
        /// The last JSON line. Its memory serves the next one.
        var buffer: [UInt8] = []
        var renderedSecond: (second: time_t, text: [UInt8]) = (.min, [])
    }

    /// - Parameters:
    ///   - label: the logger's name in the lines.
    ///   - level: the log's level; above info nothing is written.
    ///   - successInterval: one of so many successes is logged; a success is a complete response with a status below
    ///     400.
    ///   - isOfAnybody: whether a route takes no credential. Preflights never have one.
    public init(
        label: String, format: LogFormat, level: Logger.Level = .info, output: LogOutput = .standardError,
        successInterval: Int = 1, isOfAnybody: @escaping @Sendable (_ routePattern: String) -> Bool = { _ in false }
    ) {
        precondition(successInterval > 0, "the interval of logged successes must be at least 1")
        self.label = label
        fixedMembers = Self.fixedMembers(label)
        self.format = format
        self.output = output
        lane = output.makeLane()
        self.successInterval = successInterval
        self.isOfAnybody = isOfAnybody
        isEnabled = level <= .info
    }

    /// Any thread may call it. It queues the line and returns.
    public func didFinish(_ request: FinishedRequest) {
        guard isEnabled else { return }
        didFinish(request, at: .now)
    }

    func didFinish(_ request: FinishedRequest, at now: LogTime) {
        state.withLock { state in
            guard isLogged(request, now, &state) else { return }
            write(request, now, &state)
        }
    }

    private func isLogged(_ request: FinishedRequest, _ now: LogTime, _ state: inout State) -> Bool {
        if let suppressed = state.strangers.begin(now.seconds) { reportSuppressed(suppressed, now) }
        guard request.isSuccess else { return state.strangers.admit() }
        state.successes += 1
        guard successInterval == 1 || state.successes % successInterval == 1 else { return false }
        let isOfAnybody = request.head?.method == .options || isOfAnybody(request.routePattern ?? "")
        return !isOfAnybody || state.strangers.admit()
    }

    private func write(_ request: FinishedRequest, _ now: LogTime, _ state: inout State) {
        switch format {
        case .json:
            state.buffer.removeAll(keepingCapacity: true)
            writeJSON(request, now, &state)
            lane.write(state.buffer)
        case .text: lane.write(text("request", Self.metadata(request), at: now))
        }
    }

    private func reportSuppressed(_ count: Int, _ now: LogTime) {
        lane.write(
            line(
                "too many requests that failed or had no credential: some were not logged",
                ["count": .stringConvertible(count)], at: now))
    }
}

/// The requests of one second that failed or that anybody may send.
private struct StrangerCount {
    private var second = time_t.min
    private var count = 0

    /// Resets the count if a new second has begun.
    ///
    /// - Returns: how many requests of the last second were not logged, if any.
    mutating func begin(_ second: time_t) -> Int? {
        guard second != self.second else { return nil }
        defer { (self.second, count) = (second, 0) }
        return count > AccessLog.strangersPerSecondMax ? count - AccessLog.strangersPerSecondMax : nil
    }

    mutating func admit() -> Bool {
        count += 1
        return count <= AccessLog.strangersPerSecondMax
    }
}

// MARK: - Lines

extension AccessLog {
    private static func fixedMembers(_ label: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("level", Logger.Level.info.rawValue)
            writer.member("logger", label)
            writer.member("message", "request")
        }
        return Array(writer.bytes.dropFirst().dropLast())
    }

    /// Writes the same members, in the same order, as `JSONLogHandler` with the request's metadata.
    private func writeJSON(_ request: FinishedRequest, _ now: LogTime, _ state: inout State) {
        var taken: [UInt8] = []
        swap(&taken, &state.buffer)
        var writer = JSONWriter(appendingTo: taken)
        writer.object { writer in
            writer.name("time")
            writer.plainString { now.write(to: &$0, &state.renderedSecond) }
            writer.raw(fixedMembers)
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
        state.buffer = writer.takeBytes()
        state.buffer.append(UInt8(ascii: "\n"))
    }

    private func line(_ message: String, _ metadata: Logger.Metadata, at now: LogTime) -> [UInt8] {
        switch format {
        case .json: JSONLogHandler(label: label, output: output).render(event(message, metadata), at: now)
        case .text: text(message, metadata, at: now)
        }
    }

    private func text(_ message: String, _ metadata: Logger.Metadata, at now: LogTime) -> [UInt8] {
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
    /// Writes the time; its text up to the second is rendered once a second.
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
    /// Appends a duration in milliseconds, with microsecond precision: `1.5`.
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

/// The caller's position in a distributed trace: `traceparent` of W3C Trace Context, level 1.
public struct TraceParent: Sendable, Hashable {
    /// 32 lower-case hexadecimal digits.
    public let traceID: String

    /// Nil if the field is missing or malformed; the specification says to ignore it then.
    public init?(_ head: RequestHead) {
        guard let value = head.bytes(of: .traceparent) else { return nil }
        self.init(value)
    }

    /// Reads `version "-" trace-id "-" parent-id "-" trace-flags`; later versions may append to it.
    init?(_ value: ArraySlice<UInt8>) {
        let parts = value.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count >= 4, zip(parts, [2, 32, 16, 2]).allSatisfy({ $0.isLowerHex(count: $1) }) else { return nil }
        let isFirstVersion = parts[0].elementsEqual("00".utf8)
        guard !parts[0].elementsEqual("ff".utf8), parts.count == 4 || !isFirstVersion else { return nil }
        guard !parts[1].isAllZero, !parts[2].isAllZero else { return nil }
        traceID = String(decoding: parts[1], as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func isLowerHex(count length: Int) -> Bool {
        count == length
            && allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    fileprivate var isAllZero: Bool { allSatisfy { $0 == UInt8(ascii: "0") } }
}

extension HTTPField.Name {
    fileprivate static let traceparent = HTTPField.Name("traceparent")!
}
