import ArgumentParser
import Foundation
import Glibc
import PushRegistry
import RegistryJobs
import RegistryStore
import StrictJSON

extension AppsCommand {
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an app and everything in it.",
            usage: "push-registry apps delete <app> [--confirm <app>] [--json] [<options>]",
            discussion: """
                It deletes the app's installations and their history, its users' choices, its topics, segments, \
                messages, notifications, keys and its policy. Nothing brings them back but a backup of the database.

                From the first moment on, the app's keys are refused (401), and all other calls of the app find no app \
                (404). The rows are deleted in batches beside the service; the command shows how many, and ends when \
                all are gone. Then the id may be used for a new app, which is empty.

                On a terminal it asks for the app's id. Elsewhere, give it with --confirm. If the command is \
                interrupted, a running service goes on, and so does the command if it is run again.

                  push-registry apps delete com.example.mail
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Option(help: ArgumentHelp("The app id once more, where nobody can be asked.", valueName: "app"))
        var confirm: String?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let id = try app.asAppID()
            let installations = try await Database.withAttached(common.settings(), isQuiet: json) { database in
                try await database.withDirectory { directory in
                    let known = try await directory.current()
                    if known.deleting[id] == nil, known.unusable[id] == nil { _ = try known.app(app) }
                    try askIfNobodyConfirmed()
                    let entry = AuditEntry.ofCommand(.appDeleted, id.rawValue)
                    guard let (deleting, isNew) = try await directory.delete(id, recording: entry) else {
                        return Int64(0)
                    }
                    if isNew { entry.log(of: id) }
                    let installations = try await directory.installationsLeft(of: deleting.number)
                    try await remove(deleting, AppRemoval(database.configuration), directory)
                    return installations
                }
            }
            if json {
                try printJSON { writer in
                    writer.member("app", app)
                    writer.member("installations", installations)
                }
            } else {
                print("deleted \(app) with \(installations) installations")
            }
        }

        private func askIfNobodyConfirmed() throws {
            if let confirm {
                guard confirm == app else { throw refusal("--confirm must be \(app). Nothing was deleted.") }
            } else {
                guard isatty(STDIN_FILENO) == 1 else {
                    throw refusal("Nobody can be asked here. Nothing was deleted. Add --confirm \(app)")
                }
                let question = "This deletes \(app) and everything in it. Type its id: "
                FileHandle.standardError.write(Data(question.utf8))
                guard readLine() == app else { throw refusal("This is not the id. Nothing was deleted.") }
            }
        }

        /// A service may be at it already. Then the command waits for the end.
        private func remove(
            _ deleting: DeletingApp, _ removal: AppRemoval, _ directory: PostgresAppDirectory
        ) async throws {
            let line = ProgressLine()
            defer { line.clear() }
            while try await !removal.remove(deleting.number, progress: { line.show("\($0) rows deleted") }) {
                let left = try await directory.installationsLeft(of: deleting.number)
                line.show("\(left) installations left")
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}
