import ArgumentParser
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

struct Keys: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, create and revoke an app's keys.", subcommands: [List.self, Create.self, Revoke.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List an app's keys; never the secrets.")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app's identifier.") var app: String
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let keys = try await withDirectory(common, isQuiet: json) { directory in
                let snapshot = try await directory.current()
                return snapshot.keys(of: try snapshot.app(app).number)
            }
            if json {
                try printJSON(["keys": keys.map(KeyLine.init)])
            } else {
                for key in keys { print(KeyLine(key).text) }
            }
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a key and print it, this once.",
            discussion: """
                Roles: client (publishable, ships in the app), service (the back end, acts for users), sender (reads \
                tokens), marketing (counts and exports without tokens), admin (all of it, for this app).
                """)
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app's identifier.") var app: String
        @Option(help: "What the key is for.") var name: String
        @Option(help: "A role of the key; repeat it for several.") var role: [String]
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let roles = try Set(role.map { try $0.asRole() })
            guard !roles.isEmpty else { throw ValidationError("A key needs at least one --role.") }
            let new = try await withDirectory(common, isQuiet: json) { directory in
                let new = NewKey(of: try await directory.current().app(app), name: name, roles: roles)
                try await directory.add(new.key)
                return new
            }
            if json { try printJSON(["id": new.key.id, "key": new.text]) } else { print(new.text) }
        }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Revoke a key from the next request on.")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app's identifier.") var app: String
        @Argument(help: "The key's id, as `keys list` shows it.") var id: String

        func run() async throws {
            let wasThere = try await withDirectory(common) { directory in
                try await directory.revokeKey(id, of: try await directory.current().app(app).number)
            }
            guard wasThere else {
                throw refusal("\(app) has no key \(id). `push-registry keys list \(app)` lists them.")
            }
            print("revoked \(id)")
        }
    }
}

/// A key as it is listed.
private struct KeyLine: Encodable {
    let id: String
    let name: String
    let roles: [String]
    let createdAt: String
    let revokedAt: String?

    init(_ key: APIKey) {
        id = key.id
        name = key.name
        roles = key.roles.map(\.rawValue).sorted()
        createdAt = key.createdAt.description
        revokedAt = key.revokedAt?.description
    }

    var text: String {
        let state = revokedAt.map { "revoked \($0)" } ?? "created \(createdAt)"
        return "\(id)  \(roles.joined(separator: ","))  \(name)  (\(state))"
    }
}

extension DirectorySnapshot {
    func app(_ text: String) throws -> App {
        guard let app = apps[try text.asAppID()] else {
            if let unusable = unusable[try text.asAppID()] {
                throw refusal("The stored policy of \(text) cannot be used: \(unusable.reason)")
            }
            let nearest = NearestName.of(text, among: apps.keys.map(\.rawValue)).map { "Did you mean \($0)? " } ?? ""
            throw refusal(
                "There is no app \(text). \(nearest)Create it with: push-registry apps create \(text)")
        }
        return app
    }
}

extension String {
    fileprivate func asRole() throws -> Role {
        guard let role = Role(rawValue: self) else {
            let names = Role.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("\(self) is no role; the roles are \(names).")
        }
        return role
    }
}
