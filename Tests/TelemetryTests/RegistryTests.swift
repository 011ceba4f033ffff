import Basics
import CoreMetrics
import Foundation
import Testing

@testable import Telemetry

@Suite("The registry loses no count and has a size limit")
struct RegistryTests {
    let registry = PrometheusRegistry()

    @Test func handles_shareTheirValue_whenLabelAndDimensionsAreTheSame() {
        let dimensions = [("a", "1"), ("b", "2")]
        Counter(label: "c", dimensions: dimensions, factory: registry).increment(by: 2)
        Counter(label: "c_total", dimensions: dimensions.reversed(), factory: registry).increment(by: 3)
        #expect(registry.lines(of: "c_total").last == #"c_total{a="1",b="2"} 5"#)
    }

    @Test func sums_areByOneLabel_ofTheSeriesWithTheOthers() {
        for (route, status, count) in [("/a", "200", 2), ("/b", "200", 3), ("/a", "404", 5)] {
            let dimensions = [("route", route), ("status", status)]
            Counter(label: "c_total", dimensions: dimensions, factory: registry).increment(by: count)
        }
        Counter(label: "c_total", dimensions: [("route", "/c")], factory: registry).increment()
        #expect(registry.sums(of: "c_total", by: "status") == ["200": 5, "404": 5])
        #expect(registry.sums(of: "c_total", by: "status", where: [("route", "/a")]) == ["200": 2, "404": 5])
        #expect(registry.sums(of: "c_total", by: "stat") == [:] && registry.sums(of: "other", by: "status") == [:])
    }

    @Test func counter_neverDecreases_whateverIsAdded() {
        let counter = registry.makeCounter(label: "c", dimensions: [])
        for amount in [1, 0, -5] as [Int64] { counter.increment(by: amount) }
        #expect(registry.lines(of: "c_total").last == "c_total 1")
        counter.reset()
        #expect(registry.lines(of: "c_total").last == "c_total 0")
    }

    @Test func recorder_isAHistogram_whenItAggregates() {
        let recorder = Recorder(label: "rows", factory: registry)
        for value in [0, 1, 3] { recorder.record(value) }
        recorder.record(Double.nan)
        #expect(registry.lines(of: "rows_bucket").prefix(2) == [#"rows_bucket{le="1"} 2"#, #"rows_bucket{le="2"} 2"#])
        #expect(registry.lines(of: "rows_sum") == ["rows_sum 4"])
        #expect(registry.lines(of: "rows_count") == ["rows_count 3"])
    }

    @Test func series_areDroppedAndCounted_whenThereAreTooMany() {
        var configuration = PrometheusConfiguration()
        configuration.seriesMax = 3
        let registry = PrometheusRegistry(configuration)
        for index in 0..<5 {
            Counter(label: "c", dimensions: [("i", "\(index)")], factory: registry).increment()
        }
        Timer(label: "t", factory: registry).recordSeconds(1)
        Counter(label: "c", dimensions: [("i", "0")], factory: registry).increment()
        #expect(registry.lines(of: "c_total").count == 4)
        #expect(registry.lines(of: "c_total").contains(#"c_total{i="0"} 2"#))
        #expect(registry.lines(of: "t").isEmpty)
        #expect(registry.lines(of: "metrics_series_dropped_total").last == "metrics_series_dropped_total 3")
    }

    @Test func metric_isDropped_whenItsNameBelongsToAnotherKind() {
        Timer(label: "t", factory: registry).recordSeconds(1)
        Gauge(label: "t", factory: registry).record(1)
        Gauge(label: "t_count", factory: registry).record(1)
        Gauge(label: "process_open_fds", factory: registry).record(1)
        #expect(registry.lines(of: "t_count") == ["t_count 1"])
        #expect(registry.lines(of: "metrics_series_dropped_total").last == "metrics_series_dropped_total 3")
    }

    @Test func everyCountIsKept_whenManyThreadsCountAndOneScrapes() {
        let rounds = 5_000
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for round in 0..<rounds {
                let shared = [("i", "\(round % 10)")]
                Counter(label: "c", dimensions: shared, factory: registry).increment()
                Timer(label: "t", factory: registry).recordSeconds(1)
                if thread == 0, round % 500 == 0 { _ = registry.render() }
            }
        }
        #expect(registry.lines(of: "c_total").contains(#"c_total{i="3"} \#(8 * rounds / 10)"#))
        #expect(registry.lines(of: "t_count") == ["t_count \(8 * rounds)"])
        #expect(registry.lines(of: "t_sum") == ["t_sum \(8 * rounds)"])
    }
}

@Suite("An expensive figure is measured once a second")
struct CachedSecondTests {
    @Test func figureIsMeasuredAgain_afterASecond() {
        let measurements = Locked(0)
        let cached = CachedSecond {
            measurements.withLock { count in
                count += 1
                return Double(count)
            }
        }
        let start = ContinuousClock.now
        #expect(cached.value(at: start) == 1)
        #expect(cached.value(at: start + .milliseconds(999)) == 1)
        #expect(cached.value(at: start + .seconds(1)) == 2)
    }
}
