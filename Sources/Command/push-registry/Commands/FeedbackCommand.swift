import ArgumentParser
import Logging
import PushRegistry
import RegistryStore

struct FeedbackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feedback", abstract: "Decide about verdicts that a provider's outage may have caused.",
        discussion: """
            If a provider reports many tokens as dead within an hour, the breaker holds the rest: these installations \
            get no pushes, and nothing else happens to them. Typed tokens are held likewise, by kind. Were the tokens \
            really dead, release them. Else restore them, and those that were retired before the breaker opened.
            """,
        subcommands: [Release.self, Restore.self])

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Unregister the installations that the breaker holds, and remove the typed tokens.",
            usage: "push-registry feedback release <app> <provider> [--dry-run] [--json] [<options>]",
            discussion: "What has changed since is left alone.")
        @OptionGroup var repair: RepairOptions

        func run() async throws {
            try await repair.run(.release, "released", .feedbackReleased)
        }
    }

    struct Restore: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make active what feedback has unregistered, and what the breaker holds.",
            usage: "push-registry feedback restore <app> <provider> --since <time> [--json] [<options>]",
            discussion: "What registered or moved since, or was logged out since or before, is left alone.")
        @OptionGroup var repair: RepairOptions
        @Option(help: "When the outage began, such as 2026-09-01T14:00:00Z.") var since: String

        func run() async throws {
            guard let since = Timestamp(since) else {
                throw ValidationError("--since must be an RFC 3339 time such as 2026-09-01T14:00:00Z.")
            }
            try await repair.run(.restore(since: since), "restored", .feedbackRestored)
        }
    }

    struct RepairOptions: ParsableArguments {
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: "apns, apnsSandbox, fcm, huawei or webPush.") var provider: String
        @Flag(help: "Change nothing. Count the installations and typed tokens.") var dryRun = false
        @Flag(help: "Print JSON.") var json = false

        fileprivate func run(
            _ decision: FeedbackRepair.Decision, _ done: String, _ action: AuditEntry.Action
        ) async throws {
            guard let provider = Provider(rawValue: provider) else {
                let names = Provider.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("\(provider) is not a provider. The providers are \(names).")
            }
            let entry = AuditEntry.ofCommand(action, provider.rawValue)
            let count = try await withDirectory(common, isQuiet: json) { directory in
                let number = try await directory.current().app(app).number
                return try await PostgresFeedbackStore(directory.resources).repair(
                    FeedbackRepair(
                        of: number, provider: provider, decision, isDryRun: dryRun, actor: "job:feedback",
                        recording: entry))
            }
            if !dryRun { entry.log(of: app, ["installations": "\(count)"]) }
            if json { return try printJSON([done: count]) }
            print(dryRun ? "\(count) would be \(done)" : "\(count) \(done)")
        }
    }
}
