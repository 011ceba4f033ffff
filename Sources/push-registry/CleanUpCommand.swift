import ArgumentParser
import EmbeddedPostgres
import Foundation
import Glibc
import PostgresClient
import PushRegistry
import RegistryStore

/// `push-registry cleanup`.
struct CleanUpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cleanup", abstract: "The night job: retire what is stale, purge what is old.",
        discussion: """
            By each app's policy it makes stale what was not seen for long (staleAfter), ends sessions that have \
            expired, retires silent installations that were replaced and suspects that stayed silent (grace), and \
            removes what has been out of active for the retention. It forgets old logouts, makes the coming months' \
            partitions of history, and drops those that are older than --history-retention. Run it once a day, beside \
            the service.

            It works in small batches. Each batch locks its installations and checks them again, so an installation \
            that has registered since the run began stays as it is. You may kill the job at any time; the next run \
            does the rest.

            An app of whose active installations a run would judge more than --max-share to be stale, replaced or dead \
            is not touched at all (a wrong policy or clock looks like that); the other apps are cleaned up. Sessions \
            that have expired do not count. --dry-run prints the numbers that a run would print. `cleanup runs` lists \
            what was done, `cleanup undo` takes a run back, and `cleanup run --help` has all options.

            Exit codes: 0 all done; 1 the run failed on its way, run it again; 2 the database could not be looked at, \
            nothing was done; 3 at least one app was held back, by --max-share or a policy that cannot be used: look \
            at it before you run it again; 4 another run is under way; 64 a mistake in the command line or a setting.
            """,
        subcommands: [Run.self, Runs.self, Undo.self], defaultSubcommand: Run.self)

    /// A code of its own, so that the caller can recognise it.
    static let refused = ExitCode(3)
    static let busy = ExitCode(4)
}

extension CleanUpCommand {
    struct Run: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Clean up (what `cleanup` does by itself).",
            discussion: CleanUpCommand.configuration.discussion)

        @OptionGroup var common: CommonOptions
        @Flag(help: "Only say what would be done; nothing is changed or recorded.") var dryRun = false
        @OptionGroup var limits: CleanUpOptions
        @Option(
            help: ArgumentHelp(
                "Only this app; may be repeated. History, which all apps share, is left as it is.", valueName: "app"))
        var app: [String] = []
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            var options = CleanUp.Options()
            options.isDryRun = dryRun
            options.apps = Set(try app.map { try $0.asAppID() })
            options.process = ThisProcess.name
            let settings = try await common.settings(limits.flags)
            options.breaker = CleanUpBreaker(maxShare: settings.cleanUp.maxShare)
            options.historyRetention = settings.cleanUp.historyRetention
            let report = try await withCleanUp(settings, isQuiet: json) { [options] cleanUp in
                let bar = ProgressBar()
                defer { bar.clear() }
                return try await cleanUp.run(options) { bar.show($0) }
            }
            if json { try printJSON(CleanUpReportJSON(report)) } else { print(report.text) }
            if report.isRefused { throw CleanUpCommand.refused }
        }
    }

    struct Runs: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the newest runs.",
            discussion: "A run that was killed is `interrupted` once the next one has begun.")

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

/// Lends the job on a migrated database.
func withCleanUp<Value: Sendable>(
    _ settings: Settings, isQuiet: Bool, _ body: (CleanUp) async throws -> Value
) async throws -> Value {
    let logger = ProcessLogging.start(settings)
    do {
        return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
            // A failure before the job begins has changed nothing: exit code 2. A failure of the job is exit code 1.
            try await lookingAtDatabase { _ = try await database.migrate() }
            return try await body(CleanUp(database.cleanUpConfiguration))
        }
    } catch {
        switch error {
        case CleanUpRefusal.busy:
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            throw CleanUpCommand.busy
        case CleanUpRefusal.unknownApp: throw refusal("\(error)")
        case is NoDatabase, is EmbeddedPostgresError: return try await lookingAtDatabase { throw error }
        default: throw error
        }
    }
}

extension Database {
    /// The one session of the night job.
    fileprivate var cleanUpConfiguration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString, applicationName: "push-registry cleanup") }
    }
}

/// Host and process, for the record of a run.
enum ThisProcess {
    static var name: String { "process \(getpid()) on \(ProcessInfo.processInfo.hostName)" }
}
