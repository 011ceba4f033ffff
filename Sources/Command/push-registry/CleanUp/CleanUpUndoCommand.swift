import ArgumentParser
import PushRegistry
import RegistryJobs

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
