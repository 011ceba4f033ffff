import ArgumentParser
import RegistryStore

extension CleanUpCommand {
    struct Undo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Restore what a run changed.",
            discussion: """
                Installations that nothing has happened to since are as before the run, with an event `reactivated`. \
                Left as they are: what registered or changed since, what another run changed later, a token that \
                somebody else holds by now, a binding whose session or user was logged out or erased. What was purged \
                cannot be restored. Before the next run, change what was wrong (a policy, a clock), or it does the \
                same again.

                Exit codes: 0 done; 1 failed, or there is no such run; 4 another run is under way.
                """)

        @OptionGroup var common: CommonOptions
        @Argument(help: "The run's number, as `cleanup runs` has it.") var number: Int
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let undoing = try await withCleanUp(common.settings(), isQuiet: json) {
                try await $0.undo(number, process: ThisProcess.name)
            }
            if json {
                try printJSON(
                    ["run": undoing.runID, "undoes": number, "restored": undoing.restored, "skipped": undoing.skipped])
            } else {
                let counts = "\(undoing.restored) restored, \(undoing.skipped) left as they are"
                print("run \(undoing.runID) undid run \(number): \(counts)")
            }
        }
    }
}
