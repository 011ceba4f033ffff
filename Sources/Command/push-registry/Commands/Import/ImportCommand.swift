import ArgumentParser
import Foundation
import Importing
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import installations from files: exports of a registry, or of another system.",
        discussion: """
            Files are NDJSON (one object per line), CSV (RFC 4180, with a header) or one JSON array, in UTF-8, also \
            compressed by gzip or zip. - is standard input.

            Exports of other systems are recognised by their columns; --from names the system: onesignal, pinpoint, \
            sns, parse, airship, azure, braze. They are read twice: of several rows of one token, and of \
            one installId, only the newest is imported. Rows that cannot be imported (e-mail, SMS, tokens of other \
            services, users who opted out) are counted by kind. Rows without a date get --last-seen, or else the \
            newest date of the files. Most systems do not know whether iOS users allow notifications: such \
            installations are reachable only with --assume authorized, or once their app registers. With --topics, \
            tags and channels (onesignal, parse, airship, azure) become choices about topics on the installations.

            In files of the registry's own format the fields have the names of an export:

              installId token   required; for webPush also keys {p256dh, auth},
                                in CSV two columns
              provider          apns by default, or --provider; also ios, android, web
              languages         or preferredLanguages: an array, in CSV its JSON text
              userId sessionId sessionExpiresAt generation createdAt lastSeenAt
              keychainId vendorId locale language region timeZone utcOffset systemName
              osVersion appVersion deviceModel carrier appStore location
              authorizationStatus and each setting

            --map theirs=ours renames a column. Unknown columns are reported once and ignored. If a line lacks a value \
            that a registration requires, it gets a neutral one: deviceModel and osVersion "unknown", systemName by \
            the provider, locale from language and region or "und", settings unknown, times now. Waves leave out an \
            installation that has neither timeZone nor utcOffset. With authorizationStatus unknown, installations of \
            apns are not reachable until their app registers, or with --assume authorized.

            Times are RFC 3339, also without an offset (UTC), dates, Unix seconds, milliseconds or microseconds, \
            days of a spreadsheet. Null, NULL and \\N are no value. An optional value that cannot be read is absent, \
            and the summary counts it as notUnderstood; only a line whose identifiers, provider, keys or session are \
            invalid is rejected.

            authorizationStatus may also be true, yes, 1, on, enabled, allowed, granted, subscribed, optedIn; false, \
            no, 0, off, disabled, blocked, unsubscribed, optedOut; default, prompt. Any other word counts as \
            notDetermined: not reachable. A timeZone that is no IANA name is no zone, unless the line has a utcOffset.

            The import changes no existing data. Existing installations do not change (unchanged). A line is skipped \
            if another installation holds its token, or if its user was erased or logged out, everywhere or of the \
            installation, after the line's times. So you may import the same file again, for example after an \
            interruption. Imported installations are active; the first registration of the app replaces their data.

            Invalid lines are reported in a file (file, line, field and reason, never a token); the others are \
            imported.

            For an export that an import can read completely, use "include": "active" and these fields, in CSV p256dh \
            and auth instead of keys, without "kind" and "spreadsheetSafe":

            "fields": ["installId", "provider", "token", "keys", "userId", "sessionId",
            "sessionExpiresAt", "generation", "createdAt", "lastSeenAt", "keychainId",
            "vendorId", "preferredLanguages", "locale", "language", "region", "timeZone",
            "utcOffset", "systemName", "osVersion", "appVersion", "deviceModel", "carrier",
            "appStore", "location", "authorizationStatus", "soundSetting", "badgeSetting",
            "alertSetting", "notificationCenterSetting", "lockScreenSetting",
            "carPlaySetting", "criticalAlertSetting", "announcementSetting", "alertStyle",
            "showPreviewsSetting", "providesAppNotificationSettings"]

            Exit codes: 0 all lines were valid; 2 some were rejected; 1 the import failed, a file was cut off (run it \
            again), or a file has no record; 64 invalid arguments, or an option is missing.
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The files; - is standard input.")
    var files: [String]

    @Option(help: ArgumentHelp("The app of the installations; it must exist.", valueName: "app"))
    var app: String

    @OptionGroup(title: "Exports of other systems")
    var foreign: ForeignImportOptions

    @Option(help: ArgumentHelp("ndjson or csv (default: by the file's name or content).", valueName: "format"))
    var format: String?

    @Option(help: ArgumentHelp("The field for a column of another name; repeatable.", valueName: "theirs=ours"))
    var map: [String] = []

    @Option(help: ArgumentHelp("The provider of lines that name none (default: apns).", valueName: "provider"))
    var provider: String?

    @Option(
        help: ArgumentHelp(
            "The report of rejected lines (default: the first file's name with .rejected.ndjson).", valueName: "file"))
    var rejects: String?

    @Flag(
        help: """
            Write nothing. Count what would happen to each line by itself, and how many installations would be \
            reachable. Writes the report of rejected lines; without rejected lines it leaves an older report alone.
            """)
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        _ = try app.asAppID()
        _ = try names()
        if let format, InputShape(name: format) == nil {
            throw ValidationError("--format must be ndjson or csv.")
        }
        guard map.isEmpty || foreign.from == nil else { throw ValidationError("--map and --from exclude each other.") }
        if let provider, Provider(word: provider) == nil {
            let names = Provider.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--provider must be one of \(names).")
        }
    }

    func run() async throws {
        let start = ContinuousClock.now
        let (opened, source) = try prepare()
        let (summary, read, rejects) = try await Database.withAttached(common.settings(), isQuiet: json) {
            try await load(opened, source, since: start, $0)
        }
        if json { try printJSON(summary) } else { print(summary.text(rejects: rejects)) }
        guard read.endsEarly.isEmpty else {
            throw ImportFailure("\(read.endsEarly.joined(separator: ", ")): cut off. The complete rows are imported.")
        }
        let unread = files.filter { read.knownByFile[$0, default: 0] == 0 }
        guard unread.isEmpty else {
            throw ImportFailure("\(unread.joined(separator: ", ")): no record of a known type was read.")
        }
        if summary.rejected > 0 { throw ExitCode(2) }
    }

    /// Opens the files and detects their kind, before the database is used.
    private func prepare() throws -> (ImportFiles, ImportSource) {
        var opened: ImportFiles
        do { opened = try ImportFiles(files) } catch let file as ImportFiles.UnreadableFile {
            throw ValidationError("\(file.name) cannot be read.")
        }
        try checkFormat(opened)
        let names = try names()
        guard map.isEmpty else { return (opened, .own(names)) }
        try opened.keepStandardInput()
        let links = try TimeZoneLinks()
        guard let format = try ImportDetection.find(in: opened, names, given: foreign.from?.format) else {
            try foreign.refuseForOwnFormat()
            return (opened, .own(names))
        }
        guard provider == nil else { throw ValidationError("Rows of \(format.system) name their provider themselves.") }
        guard format.hasTopics || !foreign.topics else {
            throw ValidationError("Files of \(format.system) have no topics: leave --topics out.")
        }
        if foreign.from == nil { note("The files are an export of \(format.system) (--from \(format.name)).") }
        let reader = ForeignReader(format: format, options: try foreign.options, zones: ForeignTimeZones(links: links))
        return (opened, .foreign(reader))
    }

    /// A file whose name does not show a format must have a content that does.
    private func checkFormat(_ opened: ImportFiles) throws {
        guard format == nil, foreign.from == nil else { return }
        for file in files where file != "-" && opened.isEmpty(file) {
            guard InputShape(name: URL(filePath: file).pathExtension.lowercased()) == nil else { continue }
            throw ValidationError("\(file) is empty.")
        }
    }

    private func load(
        _ opened: ImportFiles, _ source: ImportSource, since start: ContinuousClock.Instant, _ database: Database
    ) async throws -> (ImportSummary, ImportInput.Counts, rejects: String) {
        let app = try await findApp(database)
        // Unless its format had to be found before.
        var kept = opened
        try kept.keepStandardInput()
        let opened = kept
        let rejects = try RejectedLines(path: rejectsPath, readingFrom: opened, keepsOlder: dryRun)
        let progress = ImportProgress()
        var plan = try plan(source, opened, app, progress)
        try await addTopics(to: &plan, of: app, database)
        let input = ImportInput()
        input.start(opened, plan, rejects)
        // Stops the reader thread also after an error.
        defer { input.stop() }
        let importer = InstallationImporter(
            into: app.number, policy: app.policy, topics: plan.topics?.catalogue ?? TopicCatalogue(), isDryRun: dryRun)
        let counts = try await importer.load(
            database.importConfiguration, from: { try input.next($0) }, stop: { input.stop() },
            progress: { progress.show($0, share: opened.progress.share) })
        progress.clear()
        let read = input.counts
        for name in read.unknownNames { note("ignored: \(name)") }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let summary = ImportSummary(plan, files: files, read, counts, isDryRun: dryRun, seconds: seconds)
        return (summary, read, rejects.path)
    }

    private func plan(
        _ source: ImportSource, _ opened: ImportFiles, _ app: App, _ progress: ImportProgress
    ) throws -> ImportPlan {
        let options = try foreign.options
        let reader = ImportReader(
            links: try TimeZoneLinks(), lastSeenDefault: options.lastSeen,
            providerDefault: provider.flatMap { Provider(word: $0) } ?? .apns,
            assumesAuthorization: foreign.assume == .authorized)
        var plan = ImportPlan(source, reader, allowing: app.policy.webPushHosts)
        do {
            try plan.scan(opened, over: app.topics) { progress.showScan($0) }
        } catch let missing as ImportPlan.MissingOption {
            throw refusal(missing.description)
        }
        return plan
    }

    /// Creates the topics that the app does not have.
    private func addTopics(to plan: inout ImportPlan, of app: App, _ database: Database) async throws {
        guard var topics = plan.topics else { return }
        let missing = topics.missing
        let created: [Topic]? =
            dryRun
            ? nil
            : try await database.withDirectory { directory in
                let store = PostgresTopicStore(directory.resources)
                var created: [Topic] = []
                for (slug, content) in missing {
                    let entry = AuditEntry.ofCommand(.topicSaved, slug.rawValue)
                    created.append(try await store.put(slug, content, in: app.number, recording: entry).topic)
                }
                return created
            }
        topics.add(created)
        plan.topics = topics
    }

    private func findApp(_ database: Database) async throws -> App {
        let id = try app.asAppID()
        let found = try await database.withDirectory { directory in
            try await directory.current().apps[id]
        }
        guard let found else {
            throw refusal("The app \(id) does not exist. Create it: push-registry apps create \(id)")
        }
        return found
    }

    private func note(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}

// MARK: - Arguments

extension ImportCommand {
    private func names() throws -> ImportNames {
        var fields: [String: ImportField] = [:]
        for pair in map {
            let names = pair.split(separator: "=", maxSplits: 1).map(String.init)
            guard names.count == 2, let field = ImportField(names[1]) else {
                let all = ImportField.allCases.map(\.name).joined(separator: " ")
                throw ValidationError("--map must be theirs=ours, where ours is one of: \(all)")
            }
            fields[names[0]] = field
        }
        return ImportNames(map: fields)
    }

    private var rejectsPath: String {
        rejects ?? (files[0] == "-" ? "import" : files[0]) + ".rejected.ndjson"
    }
}

extension Database {
    fileprivate var importConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString, applicationName: "push-registry import",
                settings: InstallationImporter.sessionSettings)
        }
    }
}

/// The progress line of an import, with its rate and the time that is left.
struct ImportProgress: Sendable {
    private static let rowsBetween: Int64 = 50_000

    private let line = ProgressLine()
    private let start = ContinuousClock.now

    /// The first pass over the rows of another system.
    func showScan(_ rows: Int64) {
        if rows % Self.rowsBetween == 0 { line.show("reading: \(rows) rows") }
    }

    /// - Parameter share: how much of the files was read, 0 to 1; nil if it is not known.
    func show(_ counts: InstallationImporter.Counts, share: Double?) {
        let done = counts.imported + counts.unchanged + counts.skipped
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        var text = "\(done) rows, \(counts.imported) imported, \(Int(Double(done) / max(seconds, 0.001))) per second"
        if let share, share > 0 {
            text += ", \(Int(share * 100)) %, \(Int((seconds / share - seconds).rounded(.up))) s left"
        }
        line.show(text)
    }

    func clear() { line.clear() }
}
