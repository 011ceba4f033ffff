import ArgumentParser
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

struct TopicsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics", abstract: "List, create, change and delete an app's topics.",
        subcommands: [List.self, Set.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List an app's topics.",
            usage: "push-registry topics list <app> [--json] [<options>]")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let topics = try await withDirectory(common, isQuiet: json) { directory in
                try await directory.current().app(app).topics.topics
            }
            if json { return try printJSON(listing: "topics", topics) { $0.about($1) } }
            for topic in topics { printLine(topic.line) }
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a topic, or replace its content. The choices about it stay.",
            usage: "push-registry topics set <app> <topic> --name <name> --default <in|out> [<options>]")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: "The topic: 1 to 64 characters of a-z 0-9 . _ -") var topic: String
        @Option(help: "The name for people.") var name: String
        @Option(help: "Whether installations without a choice are subscribed: in or out.") var `default`: TopicDefault
        @Option(help: "A description for people.") var description: String?
        @Option(help: "A settings screen shows the topics of one category together.") var category: String?
        @Flag(help: "Nobody can leave the topic.") var locked = false
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let slug = try topic.asTopic()
            let content = try content
            let entry = AuditEntry.ofCommand(.topicSaved, slug.rawValue)
            let saved = try await withDirectory(common, isQuiet: json) { directory in
                let number = try await directory.current().app(app).number
                let topics = PostgresTopicStore(directory.resources)
                return try await topics.put(slug, content, in: number, recording: entry).topic
            }
            entry.log(of: app)
            if json { try printJSON { $0.about(saved) } } else { printLine(saved.line) }
        }

        private var content: Topic.Content {
            get throws {
                for text in [name, description, category].compactMap(\.self)
                where text.isEmpty || text.unicodeScalars.count > Topic.Content.textScalarsMax {
                    throw ValidationError("Texts have 1 to \(Topic.Content.textScalarsMax) characters.")
                }
                do throws(InvalidValue) {
                    return try Topic.Content(
                        name: name, description: description, category: category, isInByDefault: `default` == .in,
                        isLocked: locked)
                } catch {
                    throw ValidationError(error.detail)
                }
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a topic and the choices about it.",
            usage: "push-registry topics delete <app> <topic> [--json] [<options>]",
            discussion: "A topic that a saved segment names cannot be deleted.")
        @OptionGroup var common: CommonOptions
        @Argument(help: "The app id.") var app: String
        @Argument(help: "The topic, see `topics list`.") var topic: String
        @Flag(help: "Print JSON.") var json = false

        func run() async throws {
            let slug = try topic.asTopic()
            let entry = AuditEntry.ofCommand(.topicDeleted, slug.rawValue)
            let existed = try await withDirectory(common, isQuiet: json) { directory in
                do {
                    let number = try await directory.current().app(app).number
                    return try await PostgresTopicStore(directory.resources).delete(slug, of: number, recording: entry)
                } catch TopicRefusal.inUse {
                    throw refusal("A saved segment names \(slug). Change the segment first.")
                }
            }
            if existed { entry.log(of: app) }
            if json {
                try printJSON(["deleted": existed])
            } else {
                print(existed ? "deleted \(slug)" : "\(app) has no topic \(slug)")
            }
        }
    }
}

enum TopicDefault: String, ExpressibleByArgument, CaseIterable {
    case `in`, out
}

extension String {
    fileprivate func asTopic() throws -> TopicSlug {
        do throws(InvalidValue) {
            return try TopicSlug(self)
        } catch {
            throw ValidationError(error.detail)
        }
    }
}

extension Topic {
    /// The topic's line in the list.
    fileprivate var line: String {
        let standard = content.isInByDefault ? "default in" : "default out"
        let notes = [content.category, standard, content.isLocked ? "locked" : nil].compactMap(\.self)
        return "\(slug)  \(content.name)  (\(notes.joined(separator: ", ")))"
    }
}
