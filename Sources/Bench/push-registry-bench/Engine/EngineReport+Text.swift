import Foundation

extension EngineReport {
    private static let cpuRatioMax = 0.4
    private static let tlsRatioMin = 0.65
    /// Above this load average other processes take the cores that the servers and the load need.
    private static let loadAverageMax = 1.0
    private static let megabytesMax = RunReport.idleMegabytesMax
    private static let tlsMegabytesMax = 400.0

    var text: String {
        FigureTable(title: "engine", figures: figures).text + "\n" + notes.joined(separator: "\n") + "\n"
    }

    var figures: [Figure] {
        againstHummingbird(.get, "GET /healthz", .ratioMax(Self.cpuRatioMax))
            + againstHummingbird(.post, "POST of a registration", .none)
            + againstHummingbird(.connection, "new connections", .none)
            + againstPlain(.get, "GET /healthz over TLS", .ratioMin(Self.tlsRatioMin))
            + againstPlain(.connection, "new TLS connections", .none)
            + memory
    }

    private func againstHummingbird(_ load: Load, _ what: String, _ target: Figure.Target) -> [Figure] {
        [
            Figure(
                title: "\(what): CPU", unit: "µs", value: median(\.microseconds, load, .plain),
                otherName: "Hummingbird", other: median(\.microseconds, load, .hummingbird), target: target),
            Figure(
                title: what, unit: "a second", value: median(\.perSecond, load, .plain),
                otherName: "Hummingbird", other: median(\.perSecond, load, .hummingbird)),
        ]
    }

    private func againstPlain(_ load: Load, _ what: String, _ target: Figure.Target) -> [Figure] {
        [
            Figure(
                title: "\(what): CPU", unit: "µs", value: median(\.microseconds, load, .tls),
                otherName: "plain", other: median(\.microseconds, load, .plain)),
            Figure(
                title: what, unit: "a second", value: median(\.perSecond, load, .tls),
                otherName: "plain", other: median(\.perSecond, load, .plain), target: target),
        ]
    }

    private var memory: [Figure] {
        let what = "memory with \(options.idleConnections) idle"
        return [
            Figure(
                title: "\(what) connections", unit: "MB", value: megabytes[.plain], otherName: "Hummingbird",
                other: megabytes[.hummingbird], target: .valueMax(Self.megabytesMax)),
            Figure(
                title: "\(what) TLS connections", unit: "MB", value: megabytes[.tls], otherName: "plain",
                other: megabytes[.plain], target: .valueMax(Self.tlsMegabytesMax)),
        ]
    }

    private var notes: [String] {
        var notes = [
            "The engine alone, without database and logs; Hummingbird 2 with the same routes. Medians of "
                + "\(options.rounds) rounds of \(seconds) s in turn, \(options.connections) connections kept alive; "
                + "CPU is the server process's user and system time. Servers and load share this machine's cores, and "
                + "the load's one thread pays for TLS as the server does: if it is the bottleneck, compare CPU and "
                + "not rates."
        ]
        if megabytes[.hummingbird] == nil { notes.append("Hummingbird was not measured: use --with-hummingbird.") }
        if loadAverage > Self.loadAverageMax {
            let load = String(format: "%.1f", loadAverage)
            notes.append("The machine was busy (load average \(load)): measure again when it is idle.")
        }
        if failures > 0 { notes.append("\(failures) responses were errors.") }
        return notes
    }
}
