import ArgumentParser
import Foundation
import PushRegistry
import RegistryAPI
import RegistryStore

extension Apps {
    struct Policy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print or change an app's policy.",
            discussion: """
                A policy is JSON, as the API takes it. `GET /openapi.json` describes the members (Policy).

                  push-registry apps policy get com.example.mail
                  push-registry apps policy set com.example.mail '{"grace": "P14D"}'
                  push-registry apps policy set com.example.mail @policy.json --replace
                """,
            subcommands: [Get.self, Change.self])
    }
}

extension Apps.Policy {
    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print an app's policy, every member of it.",
            discussion: "Symmetric keys are shown without their secrets.")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app's identifier.") var app: String

        func run() async throws {
            let found = try await withDirectory(common, isQuiet: true) { try await $0.current().app(app) }
            try printPolicy(of: found)
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Change members of an app's policy, and print the policy.",
            discussion: """
                Members that are absent stay as they are, and null is the default. With --replace, absent members get \
                their defaults, too: a key set that is left out is gone. A symmetric key without its secret keeps the \
                secret that is stored under its kid. Services use the new policy from their next request on.
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app's identifier.") var app: String
        @Argument(help: ArgumentHelp("JSON, or @ and the name of a file.", valueName: "policy")) var policy: String
        @Flag(help: "Replace the whole policy.") var replace = false

        func run() async throws {
            let text = try policy.orContentsOfFile()
            do {
                try printPolicy(
                    of: try await withDirectory(common, isQuiet: true) { try await change(to: text, in: $0) })
            } catch let error as PolicyConsole.Refusal {
                throw refusal("\(error)")
            } catch PolicyRefusal.outdated {
                throw refusal("The policy was changed meanwhile. Look at it, and run this again.")
            }
        }

        private func change(to text: String, in directory: PostgresAppDirectory) async throws -> App {
            let id = try app.asAppID()
            let snapshot = try await directory.current()
            // A stored policy that cannot be used has nothing that could be kept.
            let unusable = replace ? snapshot.unusable[id] : nil
            let present = unusable == nil ? try snapshot.app(app) : nil
            let policy = try PolicyConsole.policy(
                text, of: id, replacing: present?.policy, keepsAbsentMembers: !replace)
            let revision = present?.revision ?? unusable?.revision ?? ""
            return try await directory.put(id, policy: policy, if: .revisions([revision])).app
        }
    }
}

/// Prints the app as the API shows it, with line breaks.
private func printPolicy(of app: App) throws {
    let object = try JSONSerialization.jsonObject(with: Data(PolicyConsole.text(of: app).utf8))
    let text = try JSONSerialization.data(
        withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    print(String(decoding: text, as: UTF8.self))
}
