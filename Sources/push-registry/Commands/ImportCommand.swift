import ArgumentParser
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryStore

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import installations from a file: an export of a registry, or of another system.",
        discussion: """
            The file is NDJSON (one object per line) or CSV (RFC 4180, with a header), in UTF-8. The fields have the \
            names of an export:

              installId token            required; for webPush also keys {p256dh, auth} (in CSV two columns)
              provider                   apns by default
              userId sessionId sessionExpiresAt generation createdAt lastSeenAt keychainId vendorId
              languages (or preferredLanguages: an array, in CSV its JSON text) locale language region timeZone
              utcOffset systemName osVersion appVersion deviceModel carrier appStore location authorizationStatus
              and each setting

            --map theirs=ours renames a column. Unknown columns are reported once and ignored. If a line lacks a value \
            that a registration requires, it gets a neutral one: deviceModel and osVersion "unknown", systemName by \
            the provider, locale from language and region or "und", timeZone UTC, settings unknown, times now. With \
            authorizationStatus unknown, installations of apns are not reachable until their app registers.

            The import changes no existing data. Existing installations do not change (unchanged). A line is skipped \
            if another installation holds its token, or if its user was logged out everywhere or erased after the \
            line's times. So you may import the same file again, for example after an interruption. Imported \
            installations are active; the first registration of the app replaces their data.

            Invalid lines are reported in a file (line, field and reason, never a token); the others are imported.

            For an export that an import can read completely, use "include": "active" and these fields, in CSV p256dh \
            and auth instead of keys, without "spreadsheetSafe":

            "fields": ["installId","provider","token","keys","userId","sessionId","sessionExpiresAt","generation",
            "createdAt","lastSeenAt","keychainId","vendorId","preferredLanguages","locale","language","region",
            "timeZone","utcOffset","systemName","osVersion","appVersion","deviceModel","carrier","appStore","location",
            "authorizationStatus","soundSetting","badgeSetting","alertSetting","notificationCenterSetting",
            "lockScreenSetting","carPlaySetting","criticalAlertSetting","announcementSetting","alertStyle",
            "showPreviewsSetting","providesAppNotificationSettings"]

            Exit codes: 0 all lines were valid; 2 some were rejected; 1 the import failed, run it again; 64 invalid \
            arguments.
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The file; - is standard input.")
    var file: String

    @Option(help: ArgumentHelp("The app of the installations; it must exist.", valueName: "app"))
    var app: String

    @Option(help: ArgumentHelp("ndjson or csv (default: by the file name).", valueName: "format"))
    var format: String?

    @Option(help: ArgumentHelp("The field for a column of another name; repeatable.", valueName: "theirs=ours"))
    var map: [String] = []

    @Option(
        help: ArgumentHelp(
            "The report of rejected lines (default: the file name with .rejected.ndjson).", valueName: "file"))
    var rejects: String?

    @Flag(
        help: """
            Only count the outcomes, each line as if it were the only one. Rejected lines are reported; if there are \
            none, the report of an earlier import stays.
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
        // Stops the reader thread also after an error.
        defer { input.chunks.finish() }
        let progress = ImportProgress()
        let importer = InstallationImporter(into: app.number, isDryRun: dryRun)
        let counts = try await importer.load(
            database.importConfiguration, from: { try input.chunks.next() }, progress: { progress.show($0) })
        progress.clear()
        for name in input.counts.unknownNames {
            FileHandle.standardError.write(Data("ignored: \(name)\n".utf8))
        }
        return ImportSummary(input.counts, counts, isDryRun: dryRun, rejectsPath: rejects.path)
    }

    private func findApp(_ database: Database) async throws -> App {
        let id = try app.asAppID()
        let found = try await database.withDirectory(logger: Logger(label: "import")) { directory in
            try await directory.current().apps[id]
        }
        guard let found else {
            throw refusal("The app \(id) does not exist. Create it: push-registry apps create \(id)")
        }
        return found
    }
}

// MARK: - Arguments

extension ImportCommand {
    private func fileFormat() throws -> ImportFormat {
        let name = format ?? URL(filePath: file).pathExtension.lowercased()
        switch name {
        case "ndjson", "jsonl": return .ndjson
        case "csv": return .csv
        default: throw ValidationError("The file name does not show the format: use --format ndjson or --format csv.")
        }
    }

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
