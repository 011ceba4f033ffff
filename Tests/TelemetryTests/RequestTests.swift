import Foundation
import HTTPApplication
import HTTPWire
import Logging
import Testing

@testable import Telemetry

@Suite("Every request is counted once, with labels that no client can choose")
struct RequestMetricsTests {
    let registry = PrometheusRegistry()

    @Test func request_isCountedAndTimed_underItsRoute() {
        let metrics = RequestMetrics(registry)
        for status in [200, 200, 201, 503] { metrics.didFinish(.make(status: status)) }
        let labels = #"method="PUT",route="/v1/apps/{app}/installations/{installId}""#
        #expect(
            registry.lines(of: "http_requests_total").dropFirst() == [
                "# TYPE http_requests_total counter",
                "http_requests_total{\(labels),status=\"200\"} 2",
                "http_requests_total{\(labels),status=\"201\"} 1",
                "http_requests_total{\(labels),status=\"503\"} 1",
            ])
        let durations = registry.lines(of: "http_request_duration_seconds_")
        #expect(durations.contains("http_request_duration_seconds_bucket{\(labels),le=\"0.001\"} 0"))
        #expect(durations.contains("http_request_duration_seconds_bucket{\(labels),le=\"0.0025\"} 4"))
        #expect(durations.contains("http_request_duration_seconds_sum{\(labels)} 0.006"))
    }

    @Test func labels_areFixed_whenTheClientSendsUnknownValues() {
        let metrics = RequestMetrics(registry)
        for method in ["BREW", "WHEN", "get"] {
            metrics.didFinish(.make(head: .make(method), route: nil, status: 404))
        }
        metrics.didFinish(.make(head: nil, route: nil, status: 400))
        metrics.didFinish(.make(head: .make("GET"), route: nil, status: nil, isComplete: false))
        #expect(
            registry.lines(of: "http_requests_total").dropFirst(2) == [
                #"http_requests_total{method="GET",route="unmatched",status="none"} 1"#,
                #"http_requests_total{method="other",route="unmatched",status="400"} 1"#,
                #"http_requests_total{method="other",route="unmatched",status="404"} 3"#,
            ])
        // Input that is not a request has no meaningful duration.
        #expect(
            registry.lines(of: "http_request_duration_seconds_count").last
                == #"http_request_duration_seconds_count{method="other",route="unmatched"} 3"#)
    }

    @Test func loops_countTogether_whenEachHasItsOwn() {
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let metrics = RequestMetrics(registry)
            for _ in 0..<1_000 { metrics.didFinish(.make()) }
        }
        #expect(registry.lines(of: "http_requests_total").last?.hasSuffix(" 4000") == true)
    }
}

@Suite("The access log reports requests without secrets")
struct AccessLogTests {
    let sink = LogSink()

    @Test func line_containsTheRoute_butNotThePath() throws {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let fields = ["traceparent: 00-\(trace)-00f067aa0ba902b7-01", "Authorization: Bearer secret"]
        log().didFinish(.make(head: .make(fields: fields)))
        let line = try #require(sink.lines().first)
        #expect(
            line.hasSuffix(
                """
                "level":"info","logger":"access","message":"request","durationMs":1.5,"method":"PUT","requestBytes":12,\
                "requestId":"r-1","responseBytes":345,"route":"/v1/apps/{app}/installations/{installId}","status":200,\
                "traceId":"\(trace)"}

                """))
        #expect(!line.contains("secret") && !line.contains("192.0.2.1"))
    }

    @Test func line_reportsAnIncompleteResponse_whenTheClientWentAway() throws {
        log().didFinish(.make(status: nil, isComplete: false))
        let line = try #require(sink.lines().first)
        #expect(line.contains(#""completed":false"#) && !line.contains("status"))
    }

    @Test func line_isWritten_whenThereWasNoRequest() throws {
        log().didFinish(.make(head: nil, route: nil, status: 400))
        let line = try #require(sink.lines().first)
        #expect(line.contains(#""route":"unmatched","status":400}"#) && !line.contains("method"))
    }

    @Test func everyNthSuccess_isLogged_whenSampled() {
        let log = log(successInterval: 10)
        for _ in 0..<100 { log.didFinish(.make()) }
        #expect(sink.lines().count == 10)
    }

    @Test func failures_areAllLogged_whenSuccessesAreSampled() {
        let log = log(successInterval: 1_000)
        for status in [500, 503, 404, nil] { log.didFinish(.make(status: status)) }
        log.didFinish(.make(isComplete: false))
        #expect(sink.lines().count == 5)
    }

    @Test func failures_areCounted_whenThereAreTooMany() {
        let (log, now) = (log(), LogTime.now)
        for _ in 0..<(AccessLog.strangersPerSecondMax + 100) { log.didFinish(.make(status: 404), at: now) }
        #expect(sink.lines().count == AccessLog.strangersPerSecondMax)
        let later = LogTime(seconds: now.seconds + 1, milliseconds: 0)
        // Also by a request that succeeds: no other failure may come.
        log.didFinish(.make(), at: later)
        let lines = sink.lines()
        #expect(lines.count == 2 && lines[0].contains(#""count":100"#), "\(lines)")
    }

    @Test func requestsOfAnybody_areCounted_whenThereAreTooMany() {
        let now = LogTime.now
        let log = AccessLog(label: "access", format: .json, output: sink.output) { $0.hasSuffix("{installId}") }
        for _ in 0..<(AccessLog.strangersPerSecondMax + 100) { log.didFinish(.make(), at: now) }
        #expect(sink.lines().count == AccessLog.strangersPerSecondMax)
        let known = self.log()
        for _ in 0..<(AccessLog.strangersPerSecondMax + 100) { known.didFinish(.make(), at: now) }
        #expect(sink.lines().count == AccessLog.strangersPerSecondMax + 100)
    }

    /// The fast path must write the same line as the handler.
    @Test(arguments: [Duration.zero, .microseconds(7), .microseconds(1_500), .milliseconds(20), .seconds(61)])
    func line_equalsTheHandlersLine(_ duration: Duration) throws {
        let request = FinishedRequest.make(duration: duration)
        log().didFinish(request)
        let line = try #require(sink.lines().first)
        let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(object["durationMs"] as? Double == Double(duration / .microseconds(1)) / 1_000)
        #expect(line.contains(#""durationMs":\#(duration / .milliseconds(1)),"#))
        #expect(
            object.keys.sorted() == [
                "durationMs", "level", "logger", "message", "method", "requestBytes", "requestId", "responseBytes",
                "route",
                "status", "time",
            ])
    }

    @Test func line_isText_whenTheLogFormatIsText() throws {
        AccessLog(label: "access", format: .text, output: sink.output).didFinish(.make())
        let line = try #require(sink.lines().first)
        #expect(line.contains(" INFO  access: request durationMs=1.5 method=PUT requestBytes=12 requestId=r-1 "))
    }

    @Test func nothing_isLogged_whenTheLevelIsHigher() {
        log(level: .warning).didFinish(.make(status: 500))
        #expect(sink.lines().isEmpty)
    }

    private func log(successInterval: Int = 1, level: Logger.Level = .info) -> AccessLog {
        AccessLog(
            label: "access", format: .json, level: level, output: sink.output, successInterval: successInterval)
    }
}

@Suite("Trace contexts")
struct TraceParentTests {
    @Test func traceIDIsRead_whenTheFieldIsValid() throws {
        let (trace, parent) = (String(repeating: "a1", count: 16), String(repeating: "b2", count: 8))
        let known = try #require(TraceParent(.make(fields: ["Traceparent: 00-\(trace)-\(parent)-01"])))
        #expect(known.traceID == trace)
        for wrong in [
            "00-\(trace)-\(parent)", "ff-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-01-x",
            "00-\(String(repeating: "0", count: 32))-\(parent)-01", "00-\(trace.uppercased())-\(parent)-01", "",
        ] {
            #expect(TraceParent(.make(fields: ["Traceparent: \(wrong)"])) == nil)
        }
    }
}
