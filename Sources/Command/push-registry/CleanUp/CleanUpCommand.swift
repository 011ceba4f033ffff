import ArgumentParser
import EmbeddedPostgres
import Foundation
import Glibc
import PostgresClient
import PushRegistry
import RegistryJobs

/// `push-registry cleanup`.
struct CleanUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cleanup", abstract: "The night job: retire stale installations and delete old data.",
        discussion: """
            For each app, by its policy, it marks installations as stale that were not seen for staleAfter, ends \
            expired sessions, retires replaced and suspect installations that were silent for grace, and deletes \
            installations that left active longer ago than retention. It also deletes old tombstones, creates the \
            partitions of history for the coming months, and drops those older than --history-retention. Run it once \
            a day, beside the service.

            It works in small batches. Each batch locks its installations and checks them again, so an installation \
            that registered after the start of the run is not changed. You may kill the job at any time; the next run \
            continues.

            If a run would retire more than --max-share of an app's active installations, that app is skipped (a wrong \
            policy or clock has this effect); the others are cleaned up. Expired sessions do not count. --dry-run \
            prints the numbers that a run would print. `cleanup runs` lists the runs, `cleanup undo` reverts one, and \
            `cleanup run --help` shows all options.

            Exit codes: 0 done; 1 the run failed midway, or left out data on a node of Citus that did not respond: \
            run it again; 2 the database cannot be reached or lacks migrations, nothing was changed; 3 at least one \
            app was skipped, because of --max-share or an unusable policy: check it before the next run; 4 another \
            run is in progress; 64 invalid arguments or settings.
            """,
        subcommands: [Run.self, Runs.self, Undo.self], defaultSubcommand: Run.self)

    static let refused = ExitCode(3)
    static let busy = ExitCode(4)
}

extension CleanUpCommand {
    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Clean up (the default subcommand).",
            usage: "push-registry cleanup run [--dry-run] [--app <app> ...] [<options>]",
            discussion: CleanUpCommand.configuration.discussion)

        @OptionGroup var common: CommonOptions
        @Flag(help: "Print what a run would do, without changing or recording anything.") var dryRun = false
        @OptionGroup var limits: SettingOptions<Setting.NightJob>
        @Option(
            help: ArgumentHelp(
                "Clean up only this app; repeatable. History, which all apps share, is not changed.", valueName: "app"))
        var app: [String] = []
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            var options = CleanUp.Options()
            options.isDryRun = dryRun
            options.apps = Set(try app.map { try $0.asAppID() })
            options.process = ThisProcess.name
            let settings = try await common.settings(limits.texts)
            options.breaker = CleanUpBreaker(maxShare: settings.retiredShareMax)
            options.historyRetention = settings.historyRetention
            let report = try await withCleanUp(settings, isQuiet: json) { [options] cleanUp in
                let line = ProgressLine()
                defer { line.clear() }
                return try await cleanUp.run(options) { line.show($0.text) }
            }
            if json { try printJSON(CleanUpReportJSON(report)) } else { print(report.text) }
            if report.isIncomplete { throw ExitCode.failure }
            if report.isRefused { throw CleanUpCommand.refused }
        }
    }

    struct Runs: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the newest runs.",
            usage: "push-registry cleanup runs [--json] [<options>]",
            discussion: "A killed run becomes `interrupted` when the next run begins.")

        @OptionGroup var common: CommonOptions
        @Option(help: "How many.") var limit = 20
        @Flag(help: "Print JSON.") var json = false

        func validate() throws {
            guard (1...10_000).contains(limit) else { throw ValidationError("--limit is 1 to 10000.") }
        }

        func run() async throws {
            let runs = try await withCleanUp(common.settings(), isQuiet: json) { try await $0.runs(limit: limit) }
            if json {
                try printJSON(["runs": runs.map(CleanUpRunJSON.init)])
            } else {
                print(runs.text)
            }
        }
    }
}

/// Lends the clean-up.
func withCleanUp<Value: Sendable>(
    _ settings: Settings, isQuiet: Bool, _ body: (CleanUp) async throws -> Value
) async throws -> Value {
    do {
        return try await Database.withAttached(settings, isQuiet: isQuiet, checksSchema: false) { database in
            // A failure before the clean-up begins has changed nothing: exit code 2. A later one has exit code 1.
            try await exitingIfUnreachable { try await database.checkSchema() }
            return try await body(CleanUp(database.cleanUpConfiguration))
        }
    } catch {
        switch error {
        case CleanUpRefusal.busy:
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            throw CleanUpCommand.busy
        case CleanUpRefusal.unknownApp: throw refusal("\(error)")
        case is NoDatabase, is EmbeddedPostgresError: return try await exitingIfUnreachable { throw error }
        default: throw error
        }
    }
}

extension Database {
    /// The session of the clean-up.
    fileprivate var cleanUpConfiguration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString, applicationName: "push-registry cleanup") }
    }
}

/// Process id and host, for the record of a run.
enum ThisProcess {
    static var name: String { "process \(getpid()) on \(ProcessInfo.processInfo.hostName)" }
}

extension CleanUpCommand {
    struct Undo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore the installations that a run judged stale or unregistered.",
            usage: "push-registry cleanup undo <number> [--json] [<options>]",
            discussion: """
                Stale and unregistered installations that have not changed since the run get their former state back, \
                with an event `reactivated`. Nothing else is restored: a token or a session that the run took comes \
                back when the app registers again, and a purged installation is new then. Correct the cause (a policy, \
                a clock) before the next run, or it makes the same changes again.

                Exit codes: 0 done; 1 failed, or the run does not exist; 4 another run is in progress.
                """)

        @OptionGroup var common: CommonOptions
        @Argument(help: "The number of the run, see `cleanup runs`.") var number: Int
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let undoing = try await withCleanUp(common.settings(), isQuiet: json) {
                try await $0.undo(
                    number, process: ThisProcess.name, recording: .ofCommand(.cleanUpUndone, "\(number)"))
            }
            if json {
                try printJSON(
                    ["run": undoing.runID, "undoes": number, "restored": undoing.restored, "skipped": undoing.skipped])
            } else {
                let counts = "\(undoing.restored) restored, \(undoing.skipped) not restored"
                print("run \(undoing.runID) undid run \(number): \(counts)")
            }
        }
    }
}
