import ArgumentParser
import Foundation
import PushRegistry
import RegistryJobs
import StrictJSON
import Telemetry

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check every invariant of the data.",
        usage: "push-registry verify [--json] [<options>]",
        discussion: """
            It reads one snapshot of the database and changes nothing, so it may run beside the service. It reads \
            every table: about a minute per few million installations.

            Exit codes: 0 all invariants hold; 1 an invariant is violated; 2 the database cannot be reached or \
            lacks migrations; 64 invalid arguments or settings.
            """)

    @OptionGroup var common: CommonOptions
    @Flag(help: "Print JSON.") var json = false

    func run() async throws {
        let report = try await report()
        if json { try printJSON { $0.members(report) } } else { print(table(report)) }
        if !report.isIntact { throw ExitCode.failure }
    }

    private func report() async throws -> RegistryVerifier.Report {
        let settings = try await common.settings()
        return try await exitingIfUnreachable {
            try await Database.withAttached(settings, isQuiet: json) { try await verify($0) }
        }
    }

    private func verify(_ database: Database) async throws -> RegistryVerifier.Report {
        let line = ProgressLine()
        let report = try await RegistryVerifier(database.configuration).verify { number, count, invariant in
            line.show("\(number + 1)/\(count) \(invariant.name)")
        }
        line.clear()
        return report
    }

    private func table(_ report: RegistryVerifier.Report) -> String {
        let width = report.findings.map(\.invariant.name.count).max() ?? 0
        let lines = report.findings.map { finding in
            let name = finding.invariant.name.padding(toLength: width, withPad: " ", startingAt: 0)
            let result = finding.broken == 0 ? "ok    " : "BROKEN"
            let named = finding.examples.joined(separator: ", ").escapedForTerminal
            let examples = finding.broken == 0 ? "" : "\n    \(finding.broken): \(named)"
            return "\(result)  \(name)  \(finding.invariant.promise) (\(finding.invariant.rule))\(examples)"
        }
        let broken = report.findings.filter { $0.broken > 0 }.count
        let verdict =
            broken == 0 ? "all invariants hold" : "\(broken) of \(report.findings.count) invariants are violated"
        return lines.joined(separator: "\n")
            + "\n\n\(report.installations) installations, \(report.events) events as of \(report.asOf): \(verdict)"
    }
}

extension JSONWriter {
    fileprivate mutating func members(_ report: RegistryVerifier.Report) {
        member("isIntact", report.isIntact)
        member("asOf", report.asOf.description)
        member("installations", report.installations)
        member("events", report.events)
        name("checks")
        array { writer in
            for finding in report.findings {
                writer.object { writer in
                    writer.member("name", finding.invariant.name)
                    writer.member("rule", finding.invariant.rule)
                    writer.member("promise", finding.invariant.promise)
                    writer.member("broken", finding.broken)
                    writer.member("examples", finding.examples)
                }
            }
        }
    }
}
