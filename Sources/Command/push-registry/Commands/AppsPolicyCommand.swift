import ArgumentParser
import Foundation
import PushRegistry
import RegistryAPI
import RegistryStore

extension AppsCommand {
    struct Policy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print or change an app's policy.",
            discussion: """
                A policy has the JSON of the API. `GET /openapi.json` describes its members (schema Policy).

                  push-registry apps policy get com.example.mail
                  push-registry apps policy set com.example.mail '{"grace": "P14D"}'
                  push-registry apps policy set com.example.mail @policy.json --replace
                """,
            subcommands: [Get.self, Change.self])
    }
}

extension AppsCommand.Policy {
    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print an app's policy with all members.",
            usage: "push-registry apps policy get <app> [<options>]",
            discussion: "Symmetric keys are shown without their secrets.")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String

        func run() async throws {
            let found = try await withDirectory(common, isQuiet: true) { try await $0.current().app(app) }
            try printJSON(compact: PolicyConsole.text(of: found))
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Change members of an app's policy, and print the policy.",
            usage: "push-registry apps policy set <app> <policy> [--replace] [<options>]",
            discussion: """
                Absent members do not change, and null sets the default. --replace resets every member that you leave \
                out, also the key set. To keep the secret of a symmetric key, send its `kid` without `k`. Services \
                use the new policy from their next request on.
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: ArgumentHelp("JSON, or @ and a file name.", valueName: "policy")) var policy: String
        @Flag(help: "Replace the whole policy.") var replace = false

        func run() async throws {
            let text = try policy.orContentsOfFile()
            do {
                let (changed, change) = try await withDirectory(common, isQuiet: true) {
                    try await apply(text, in: $0)
                }
                change.entry?.log(of: app)
                try printJSON(compact: PolicyConsole.text(of: changed))
            } catch let error as PolicyConsole.Refusal {
                throw refusal("\(error)")
            }
        }

        private func apply(
            _ text: String, in directory: PostgresAppDirectory
        ) async throws -> (app: App, change: PolicyChange) {
            let id = try app.asAppID()
            let known = try await directory.current()
            // An unusable stored policy can only be replaced as a whole.
            if !replace || known.unusable[id] == nil { _ = try known.app(app) }
            let replace = replace
            return try await directory.change(id) { stored in
                guard let stored else { throw AppIsBeingDeleted() }
                let present = replace ? try? stored.policy.get() : try stored.policy.get()
                let policy = try PolicyConsole.policy(
                    text, of: id, replacing: present, keepsAbsentMembers: !replace)
                return PolicyChange(to: policy, from: present) { members in
                    .ofCommand(replace ? .policyReplaced : .policyChanged, id.rawValue, members: members)
                }
            }
        }
    }
}
