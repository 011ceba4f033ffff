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
            How to treat iOS users whose permission the files do not say, until their app registers.
            """)
    var assume: Assumption = .unknown

    @Option(
        help: ArgumentHelp(
            "When installations without a date were last seen: the time of the export (RFC 3339, or a date).",
            valueName: "time"))
    var lastSeen: String?

    @Option(help: ArgumentHelp("The system of rows that do not name theirs: iOS, Android, Web.", valueName: "name"))
    var system: String?

    @Option(
        help: ArgumentHelp("Import the rows of this app only, if files have several; repeatable.", valueName: "app"))
    var onlyApp: [String] = []

    @Flag(help: "Import the rows of all apps, if files have several.")
    var allApps = false

    @Option(
        help: ArgumentHelp("The column or member that is the user id, such as CustomUserData.", valueName: "path"))
    var user: String?

    @Flag(
        help: """
            Turn tags, channels and lists into topics. Missing topics are created, and only the imported installations \
            are subscribed.
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
                guard let time = ImportedTime.parse(text) else {
                    throw ValidationError("--last-seen must be a time such as 2026-11-21T00:00:00Z.")
                }
                return min(time, .now())
            }
            guard onlyApp.isEmpty || !allApps else {
                throw ValidationError("--only-app and --all-apps exclude each other.")
            }
            return ForeignOptions(
                environment: environment?.provider, lastSeen: seen, system: system,
                apps: onlyApp.isEmpty && !allApps ? nil : Set(onlyApp),
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
        guard environment == nil, system == nil, onlyApp.isEmpty, !allApps, user == nil, !topics else {
            throw ValidationError(
                "--environment, --system, --only-app, --all-apps, --user and --topics are for exports of other systems "
                    + "(--from).")
        }
    }
}
