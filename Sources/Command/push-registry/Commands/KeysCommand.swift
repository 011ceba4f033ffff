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
            let (keys, lastUses) = try await withDirectory(common, isQuiet: json) { directory in
                let snapshot = try await directory.current()
                let app = try snapshot.app(app).number
                return (snapshot.keys(of: app), try await directory.lastUses(ofKeysOf: app))
            }
            if json { return try printJSON(listing: "keys", keys) { $0.about($1, lastUsedAt: lastUses[$1.id]) } }
            for key in keys { printLine(key.line(lastUsedAt: lastUses[key.id])) }
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
        @Option(help: "The time from which the key is refused, such as 2027-06-30T00:00:00Z.") var expiresAt: String?
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let roles = try Set(role.map(asRole))
            guard !roles.isEmpty else { throw ValidationError("A key requires at least one --role.") }
            guard name.unicodeScalars.count <= Device.textScalarsMax else {
                throw ValidationError("--name has at most \(Device.textScalarsMax) characters.")
            }
            let expiresAt = try expiresAt.map { text in
                guard let time = Timestamp(text), time > .now() else {
                    throw ValidationError("--expires-at must be an RFC 3339 time in the future.")
                }
                return time
            }
            let (new, entry) = try await withDirectory(common, isQuiet: json) { directory in
                let app = try await directory.current().app(app)
                let new = NewKey(of: app, name: name, roles: roles, expiresAt: expiresAt)
                let entry = AuditEntry.ofCommand(.keyCreated, new.key.id)
                try await directory.add(new.key, recording: entry)
                return (new, entry)
            }
            entry.log(of: app, new.auditMetadata)
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
            let entry = AuditEntry.ofCommand(.keyRevoked, id)
            let exists = try await withDirectory(common) { directory in
                try await directory.revokeKey(
                    id, of: try await directory.current().app(app).number, recording: entry)
            }
            guard exists else {
                throw refusal("\(app) has no key \(id). `push-registry keys list \(app)` lists them.")
            }
            entry.log(of: app)
            print("revoked \(id)")
        }
    }
}

extension APIKey {
    /// The key's line in the list.
    fileprivate func line(lastUsedAt: Timestamp?) -> String {
        let state = revokedAt.map { "revoked \($0)" } ?? "created \(createdAt)"
        let use = lastUsedAt.map { "last used \($0)" } ?? "never used"
        let expiry = expiresAt.map { ", expires \($0)" } ?? ""
        return "\(id)  \(roles.map(\.rawValue).sorted().joined(separator: ","))  \(name)  (\(state)\(expiry), \(use))"
    }
}

private func asRole(_ text: String) throws -> Role {
    guard let role = Role(rawValue: text) else {
        let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("\(text) is not a role. The roles are \(names).")
    }
    return role
}
