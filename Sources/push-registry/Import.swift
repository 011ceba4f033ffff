import ArgumentParser
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryStore

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Load installations from a file: another registry's export, or another system's.",
        discussion: """
            The file is NDJSON (one object a line) or CSV (RFC 4180, with a header), in UTF-8. Its fields are named as \
            in an export:

              installId token            required; for webPush keys {p256dh, auth} too (in CSV two columns)
              provider                   apns by default
              userId sessionId sessionExpiresAt generation createdAt lastSeenAt keychainId vendorId
              languages (or preferredLanguages: an array, in CSV its JSON text) locale language region timeZone
              utcOffset systemName osVersion appVersion deviceModel carrier appStore location authorizationStatus
              and each setting

            --map theirs=ours renames a column. The command reports each unknown column once, and ignores it. If a \
            line lacks a value that a registration requires, it gets a neutral one: deviceModel and osVersion \
            "unknown", systemName by the provider, locale from language and region or "und", timeZone UTC, settings \
            unknown, times now. With authorizationStatus unknown, installations of apns are not reachable until \
            their app checks in.

            Nothing that is registered changes: an installation that is there stays as it is (unchanged), and a token \
            that another installation holds stays there (skipped), as does a user who was logged out everywhere or \
            erased since the line was true. So the same file may be loaded again, and is after an import was \
            interrupted. Imported installations are active; the first registration of their app replaces what the file \
            said.

            Lines that are wrong go to a file (line, field and reason, never a token); the rest is loaded.

            An export that an import reads back whole has "include": "active" and these fields, p256dh and auth \
            instead of keys in CSV, without "spreadsheetSafe":

            "fields": ["installId","provider","token","keys","userId","sessionId","sessionExpiresAt","generation",
            "createdAt","lastSeenAt","keychainId","vendorId","preferredLanguages","locale","language","region",
            "timeZone","utcOffset","systemName","osVersion","appVersion","deviceModel","carrier","appStore","location",
            "authorizationStatus","soundSetting","badgeSetting","alertSetting","notificationCenterSetting",
            "lockScreenSetting","carPlaySetting","criticalAlertSetting","announcementSetting","alertStyle",
            "showPreviewsSetting","providesAppNotificationSettings"]

            Exit codes: 0 all lines were good; 2 some were rejected; 1 the import failed, and may be run again; 64 \
            wrong arguments.
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The file; - is the standard input.")
    var file: String

    @Option(help: ArgumentHelp("The app to load into; it must exist.", valueName: "app"))
    var app: String

    @Option(help: ArgumentHelp("ndjson or csv (default: by the file's name).", valueName: "format"))
    var format: String?

    @Option(help: ArgumentHelp("What a column of theirs is here; may be repeated.", valueName: "theirs=ours"))
    var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where rejected lines are reported (default: the file's name and .rejected.ndjson).", valueName: "file"))
    var rejects: String?

    @Flag(
        help: """
            Only count what would become of the lines, each as if it were the only one. Rejected lines are reported; \
            if there are none, an earlier import's report stays.
            """)
    var dryRun = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        _ = try app.asAppID()
        _ = try fileFormat()
        _ = try names()
    }

    func run() async throws {
        let input = try openFile()
        let settings = try await common.settings()
        let logger = ProcessLogging.start(settings)
        let summary = try await Database.withAttached(settings, isQuiet: json, logger: logger) {
            try await load(input, $0)
        }
        if json { try printJSON(summary) } else { print(summary.text) }
        if summary.rejected > 0 { throw ExitCode(2) }
    }

    private func load(_ file: FileHandle, _ database: Database) async throws -> ImportSummary {
        let app = try await findApp(database)
        let rejects = try RejectedLines(path: rejectsPath, readingFrom: file, keepsOlder: dryRun)
        let input = ImportInput()
        try input.start(file, fileFormat(), names(), rejects)
        // However this ends, the reader does too.
        defer { input.pieces.finish() }
        let progress = ImportProgress(input)
        let importer = InstallationImporter(into: app.number, isDryRun: dryRun)
        let counts = try await importer.load(
            database.importConfiguration, from: { try input.pieces.next() }, progress: { progress.show($0) })
        progress.finish()
        for name in input.counts.unknownNames { ImportProgress.tell("ignored: \(name)\n") }
        return ImportSummary(input.counts, counts, isDryRun: dryRun, rejectsPath: rejects.path)
    }

    private func findApp(_ database: Database) async throws -> App {
        let id = try app.asAppID()
        let found = try await database.withDirectory(logger: Logger(label: "import")) { directory in
            try await directory.current().apps[id]
        }
        guard let found else {
            throw refusal("There is no app \(id). Create it with: push-registry apps create \(id)")
        }
        return found
    }
}

// MARK: - Arguments

extension Import {
    private func fileFormat() throws -> ImportFormat {
        let name = format ?? URL(filePath: file).pathExtension.lowercased()
        switch name {
        case "ndjson", "jsonl": return .ndjson
        case "csv": return .csv
        default: throw ValidationError("Say --format ndjson or --format csv.")
        }
    }

    private func names() throws -> ImportNames {
        var fields: [String: ImportField] = [:]
        for pair in map {
            let names = pair.split(separator: "=", maxSplits: 1).map(String.init)
            guard names.count == 2, let field = ImportField(names[1]) else {
                let all = ImportField.allCases.map(\.name).joined(separator: " ")
                throw ValidationError("--map takes theirs=ours, ours being one of: \(all)")
            }
            fields[names[0]] = field
        }
        return ImportNames(map: fields)
    }

    private var rejectsPath: String {
        rejects ?? (file == "-" ? "import" : file) + ".rejected.ndjson"
    }

    private func openFile() throws -> FileHandle {
        if file == "-" { return .standardInput }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: file, isDirectory: &isDirectory), !isDirectory.boolValue,
            let handle = FileHandle(forReadingAtPath: file)
        else { throw ValidationError("\(file) cannot be read.") }
        return handle
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
