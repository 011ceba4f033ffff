import Foundation

extension EngineReport {
    private static let cpuRatioMax = 0.4
    private static let tlsRatioMin = 0.65
    /// Beyond, others take the cores that the servers and the load need.
    private static let loadAverageMax = 1.0
    private static let megabytesMax = Report.idleMegabytesMax

    var text: String {
        let table = [Self.line(Self.header)] + figures.map(Self.line)
        return (table + [""] + notes).joined(separator: "\n") + "\n"
    }

    private var figures: [EngineFigure] {
        againstHummingbird(.get, "GET /healthz", .ratioMax(Self.cpuRatioMax))
            + againstHummingbird(.post, "POST of a registration", .none)
            + againstHummingbird(.connection, "new connections", .none)
            + againstPlain(.get, "GET /healthz over TLS", .ratioMin(Self.tlsRatioMin))
            + againstPlain(.connection, "new TLS connections", .none)
            + memory
    }

    private func againstHummingbird(_ load: Load, _ what: String, _ target: EngineFigure.Target) -> [EngineFigure] {
        [
            EngineFigure(
                title: "\(what): CPU µs each", value: median(\.microseconds, load, .plain),
                otherName: "Hummingbird", other: median(\.microseconds, load, .hummingbird), target: target),
            EngineFigure(
                title: "\(what): per second", value: median(\.perSecond, load, .plain),
                otherName: "Hummingbird", other: median(\.perSecond, load, .hummingbird)),
        ]
    }

    private func againstPlain(_ load: Load, _ what: String, _ target: EngineFigure.Target) -> [EngineFigure] {
        [
            EngineFigure(
                title: "\(what): CPU µs each", value: median(\.microseconds, load, .tls),
                otherName: "plain", other: median(\.microseconds, load, .plain)),
            EngineFigure(
                title: "\(what): per second", value: median(\.perSecond, load, .tls),
                otherName: "plain", other: median(\.perSecond, load, .plain), target: target),
        ]
    }

    private var memory: [EngineFigure] {
        let what = "MB with \(options.idleConnections) idle"
        return [
            EngineFigure(
                title: "\(what) connections", value: megabytes[.plain], otherName: "Hummingbird",
                other: megabytes[.hummingbird], target: .valueMax(Self.megabytesMax)),
            EngineFigure(
                title: "\(what) TLS connections", value: megabytes[.tls], otherName: "plain", other: megabytes[.plain]),
        ]
    }

    private var notes: [String] {
        var notes = [
            "The engine alone, without database and logs; Hummingbird 2 with the same routes. Medians of "
                + "\(options.rounds) rounds of \(seconds) s in turn, \(options.connections) connections kept alive; CPU is "
                + "the server process's user and system time. Servers and load share this machine's cores, and the load's "
                + "one thread pays for TLS as the server does: where it is the narrow place, CPU tells more than rates."
        ]
        if megabytes[.hummingbird] == nil { notes.append("Hummingbird was not measured: ask with --with-hummingbird.") }
        if loadAverage > Self.loadAverageMax {
            let load = Self.number(loadAverage)
            notes.append("The machine was busy (load average \(load)): measure again when it is not.")
        }
        if failures > 0 { notes.append("\(failures) answers were no success.") }
        return notes
    }
}

// MARK: - Lines

extension EngineReport {
    private static let header = ["engine", "push-registry", "beside it", "", "ratio", "to reach", ""]
    private static let widths = [44, 14, 12, 12, 7, 9, 6]

    private static func line(_ figure: EngineFigure) -> String {
        line([
            figure.title, number(figure.value), figure.other == nil ? "" : figure.otherName, number(figure.other),
            figure.ratio.map { String(format: "%.2f", $0) } ?? "", figure.targetText,
            figure.isReached.map { $0 ? "ok" : "missed" } ?? "",
        ])
    }

    private static func line(_ cells: [String]) -> String {
        zip(cells, widths).enumerated().map { index, item in
            let space = String(repeating: " ", count: max(0, item.1 - item.0.count))
            return index == 0 ? item.0 + space : space + item.0
        }.joined(separator: " ")
    }

    private static func number(_ value: Double?) -> String {
        value.map { String(format: $0 < 1_000 ? "%.1f" : "%.0f", $0) } ?? ""
    }
}
