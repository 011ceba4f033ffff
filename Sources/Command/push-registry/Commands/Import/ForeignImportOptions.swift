import ArgumentParser
import Importing
import PushRegistry

/// The options for exports of other systems: what their files do not say.
struct ForeignImportOptions: ParsableArguments {
    /// A value of `--from`.
    struct System: ExpressibleByArgument {
        let format: ForeignFormat

        init?(argument: String) {
            guard let format = ForeignFormat.all.first(where: { $0.name == argument }) else { return nil }
            self.format = format
        }

        static var allValueStrings: [String] { ForeignFormat.all.map(\.name) }
        var defaultValueDescription: String { format.name }
    }

    enum Environment: String, ExpressibleByArgument, CaseIterable {
        case production, sandbox

        var provider: Provider { self == .production ? .apns : .apnsSandbox }
    }

    enum Assumption: String, ExpressibleByArgument, CaseIterable {
        case authorized, unknown
    }

    @Option(help: ArgumentHelp("The system that wrote the files (default: by their columns).", valueName: "system"))
    var from: System?

    @Option(help: "The environment of APNs, if the files do not say it.")
    var environment: Environment?

    @Option(
        help: """
            Whether iOS users of whom nothing is known count as having allowed notifications, until their app \
            registers for the first time.
            """)
    var assume: Assumption = .unknown

    @Option(
        help: ArgumentHelp(
            "When installations without a date were last seen: the time of the export (RFC 3339, or a date).",
            valueName: "time"))
    var lastSeen: String?

    @Option(help: ArgumentHelp("The system of rows that do not name theirs: iOS, Android, Web.", valueName: "name"))
    var system: String?

    @Option(help: ArgumentHelp("Import the rows of this app only, if files have several.", valueName: "app"))
    var onlyApp: String?

    @Option(
        help: ArgumentHelp("The column or member that is the user id, such as CustomUserData.", valueName: "path"))
    var user: String?

    @Flag(
        help: """
            Import tags, channels and lists as topics of installations. Topics that the app does not have are created; \
            nobody else is subscribed to them.
            """)
    var topics = false

    @Option(help: ArgumentHelp("With --topics: import this topic only; repeatable.", valueName: "topic"))
    var onlyTopic: [String] = []

    func validate() throws {
        _ = try options
    }

    var options: ForeignOptions {
        get throws {
            let seen = try lastSeen.map { text in
                guard let time = ForeignTime.parse(text) else {
                    throw ValidationError("--last-seen must be a time such as 2026-11-21T00:00:00Z.")
                }
                return min(time, .now())
            }
            return ForeignOptions(
                environment: environment?.provider, lastSeen: seen, system: system, onlyApp: onlyApp,
                user: user.map { FieldPath($0) }, topics: try chosenTopics)
        }
    }

    private var chosenTopics: ForeignOptions.Topics? {
        get throws {
            guard topics else {
                guard onlyTopic.isEmpty else { throw ValidationError("--only-topic needs --topics.") }
                return nil
            }
            guard !onlyTopic.isEmpty else { return .all }
            return .only(
                try Set(
                    onlyTopic.map { name in
                        guard let slug = ForeignTag(name: name).slug else {
                            throw ValidationError("--only-topic must be 1 to 64 characters of a-z 0-9 . _ -")
                        }
                        return slug
                    }))
        }
    }

    /// Our own format says all of this itself.
    func refuseForOwnFormat() throws {
        guard environment == nil, system == nil, onlyApp == nil, user == nil, !topics else {
            throw ValidationError(
                "--environment, --system, --only-app, --user and --topics are for exports of other systems (--from).")
        }
    }
}
