import CoreMetrics
import Glibc
import Testing

@testable import Telemetry

@Suite("Prometheus can parse the rendered text")
struct ExpositionTests {
    let registry = PrometheusRegistry()

    @Test func text_hasPrometheusFormat_forEachKind() {
        var configuration = PrometheusConfiguration(descriptions: [
            MetricDescription("jobs_total", .counter, "Jobs done."),
            MetricDescription("wait_seconds", .histogram, "Back\\slash\nand line."),
        ])
        configuration.timerBuckets = [0.1, 1]
        let registry = PrometheusRegistry(configuration)
        Counter(label: "jobs", dimensions: [("queue", "b"), ("app", "x")], factory: registry).increment(by: 2)
        Counter(label: "jobs", dimensions: [("queue", "a")], factory: registry).increment()
        Gauge(label: "depth", factory: registry).record(-7)
        let timer = Timer(label: "wait_seconds", dimensions: [("queue", "a")], factory: registry)
        for milliseconds in [50, 100, 101, 5_000] { timer.recordMilliseconds(milliseconds) }

        let own = registry.text.split(separator: "\n").filter { !$0.contains("process_") && !$0.contains("dropped") }
        #expect(
            own.joined(separator: "\n") == """
                # TYPE depth gauge
                depth -7
                # HELP jobs_total Jobs done.
                # TYPE jobs_total counter
                jobs_total{app="x",queue="b"} 2
                jobs_total{queue="a"} 1
                # HELP wait_seconds Back\\\\slash\\nand line.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{queue="a",le="0.1"} 2
                wait_seconds_bucket{queue="a",le="1"} 3
                wait_seconds_bucket{queue="a",le="+Inf"} 4
                wait_seconds_sum{queue="a"} 5.251
                wait_seconds_count{queue="a"} 4
                """)
        #expect(registry.text.hasSuffix("\n"))
    }

    @Test func latencyBuckets_reachFromHalfAMillisecondToTenSeconds_byDefault() {
        Timer(label: "t", factory: registry).recordNanoseconds(500_000 as Int64)
        let buckets = registry.lines(of: "t_bucket")
        #expect(buckets.first == "t_bucket{le=\"0.0005\"} 1")
        #expect(buckets.suffix(2) == ["t_bucket{le=\"10\"} 1", "t_bucket{le=\"+Inf\"} 1"])
        #expect(buckets.count == 15)
    }

    @Test(arguments: [
        ("http.requests", "http_requests"), ("9lives", "_9lives"), ("a:b", "a:b"), ("", "_"), ("größe", "gr__e"),
        ("a b\nc", "a_b_c"),
    ])
    func name_isSanitised_whenPrometheusWouldRefuseIt(_ label: String, _ name: String) {
        Gauge(label: label, factory: registry).record(1)
        #expect(registry.text.contains("\n\(name) 1\n") || registry.text.contains("gauge\n\(name) 1\n"))
    }

    @Test(arguments: [
        ([("a", "\"\\\n")], #"{a="\"\\\n"}"#),
        ([("le", "1"), ("__name__", "x")], #"{_name__="x",exported_le="1"}"#),
        ([("a.b", "1"), ("a_b", "2")], #"{a_b="2"}"#),
        ([("a", "")], ""),
        ([("b", "ü"), ("a", "{},=")], #"{a="{},=",b="ü"}"#),
    ])
    func labels_areEscapedSortedAndUnique(_ dimensions: [(String, String)], _ labels: String) {
        Gauge(label: "g", dimensions: dimensions, factory: registry).record(1)
        #expect(registry.lines(of: "g").last == "g\(labels) 1")
    }

    @Test(arguments: [
        (1.0, "1"), (0.25, "0.25"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"),
        (-0.5, "-0.5"), (9_007_199_254_740_991, "9007199254740991"),
    ])
    func number_isSpelledAsInGo(_ value: Double, _ text: String) {
        #expect(ExpositionText.number(value) == text)
    }

    @Test func process_isDescribed_whenScraped() throws {
        let value = { (name: String) in
            try #require(registry.lines(of: name).last?.split(separator: " ").last.flatMap { Double($0) })
        }
        let now = Double(time(nil))
        #expect(try value("process_resident_memory_bytes") > 1_000_000)
        #expect(try value("process_cpu_seconds_total") > 0)
        #expect(try (3..<10_000).contains(value("process_open_fds")))
        #expect(try (now - 86_400...now + 5).contains(value("process_start_time_seconds")))
        #expect(registry.lines(of: "process_cpu_seconds_total").contains("# TYPE process_cpu_seconds_total counter"))
    }
}
