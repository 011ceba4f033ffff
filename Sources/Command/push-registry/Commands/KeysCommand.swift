import ArgumentParser
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "List, create and revoke an app's keys.",
        subcommands: [List.self, Create.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List an app's keys without their secrets.",
            usage: "push-registry keys list <app> [--json] [<options>]")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let keys = try await withDirectory(common, isQuiet: json) { directory in
                let snapshot = try await directory.current()
                let app = try snapshot.app(app).number
                let lastUses = try await directory.lastUses(ofKeysOf: app)
                return snapshot.keys(of: app).map { KeyLine($0, lastUsedAt: lastUses[$0.id]) }
            }
            if json { try printJSON(["keys": keys]) } else { for key in keys { print(key.text) } }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a key and print it. It is shown only once.",
            usage: "push-registry keys create <app> --name <name> --role <role> ... [--json] [<options>]",
            discussion: """
                Roles: client (publishable, part of the app), service (the back end, acts for users), sender (reads \
                tokens), marketing (counts and exports without tokens), support (reads installations and histories \
                without tokens), admin (all roles, for this app).
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Option(help: "The purpose of the key.") var name: String
        @Option(help: "A role of the key; repeatable.") var role: [String]
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let roles = try Set(role.map(asRole))
            guard !roles.isEmpty else { throw ValidationError("A key requires at least one --role.") }
            let new = try await withDirectory(common, isQuiet: json) { directory in
                let new = NewKey(of: try await directory.current().app(app), name: name, roles: roles)
                try await directory.add(new.key)
                return new
            }
            if json { try printJSON(["id": new.key.id, "key": new.text]) } else { print(new.text) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key from the next request on.",
            usage: "push-registry keys revoke <app> <id> [<options>]")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: "The key's id, see `keys list`.") var id: String

        func run() async throws {
            let exists = try await withDirectory(common) { directory in
                try await directory.revokeKey(id, of: try await directory.current().app(app).number)
            }
            guard exists else {
                throw refusal("\(app) has no key \(id). `push-registry keys list \(app)` lists them.")
            }
            print("revoked \(id)")
        }
    }
}

/// A key in the list.
private struct KeyLine: Encodable, Sendable {
    let id: String
    let name: String
    let roles: [String]
    let createdAt: String
    /// With hour precision.
    let lastUsedAt: String?
    let revokedAt: String?

    init(_ key: APIKey, lastUsedAt: Timestamp?) {
        id = key.id
        name = key.name
        roles = key.roles.map(\.rawValue).sorted()
        createdAt = key.createdAt.description
        self.lastUsedAt = lastUsedAt?.description
        revokedAt = key.revokedAt?.description
    }

    var text: String {
        let state = revokedAt.map { "revoked \($0)" } ?? "created \(createdAt)"
        let use = lastUsedAt.map { "last used \($0)" } ?? "never used"
        return "\(id)  \(roles.joined(separator: ","))  \(name)  (\(state), \(use))"
    }
}

private func asRole(_ text: String) throws -> Role {
    guard let role = Role(rawValue: text) else {
        let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("\(text) is not a role. The roles are \(names).")
    }
    return role
}
