import PushRegistry

/// The export of another system as a table: how to recognise it, where the values stand, and what they mean. Each
/// system's table has a file of its own.
package struct ForeignFormat: Sendable {
    /// The value of `--from`.
    package let name: String
    /// The system's name in messages.
    package let system: String
    /// A file is of this format if its first row has all values of one of these lists.
    let signatures: [[FieldPath]]
    /// The members of an outer object, or of a page of a list, whose arrays have the rows.
    var wrappers: Set<String> = []
    /// Texts that mean a missing value, in lower case, beside those that always do (`String.isNull`).
    var emptyTexts: Set<String> = []
    /// Returns one row for each installation of an object.
    var expand: @Sendable (ForeignRow) -> [ForeignRow] = { [$0] }

    /// Prefixes of paths that the value of `--user` may leave out.
    var prefixes: [String] = []
    /// Set if the system writes several rows for one installation. A row that lacks a user or tags takes them from
    /// older rows of the same token and installation.
    var installation: FieldPath?
    /// The app of a row, if a file may have several.
    var app: FieldPath?
    /// Rows that are skipped before rows are compared. The first rule that matches gives the kind.
    var skips: [Rule] = []
    /// Rows of users who do not want notifications. An installation of APNs is imported as `denied`; others are left
    /// out. An opted-out row that is newer than a row with permission wins.
    var optOuts: [Rule] = []
    /// Rows whose user allows notifications.
    var permissions: [Rule] = []
    /// The provider by a value of the row, in lower case.
    let provider: FieldPath
    let providers: [String: ForeignProvider]
    /// The provider of an installation of APNs, by another value.
    var otherProviders: [OtherProvider] = []

    let token: [FieldPath]
    var fields: [Field]
    var coordinates: (latitude: FieldPath, longitude: FieldPath)?
    /// What an installation gets pushes about; nil if the system's files do not say it.
    var tags: (@Sendable (ForeignRow) -> [ForeignTag])?

    /// A field of an import, from the first of these paths that has a value.
    struct Field: Sendable {
        let field: ImportField
        let paths: [FieldPath]
        var reading: ForeignReading = .text
        var isForWeb = true

        init(_ field: ImportField, _ paths: FieldPath..., as reading: ForeignReading = .text) {
            self.field = field
            self.paths = paths
            self.reading = reading
        }

        /// The same field, not read from rows of browsers: there the value has another meaning.
        func exceptWeb() -> Field {
            var field = self
            field.isForWeb = false
            return field
        }
    }

    /// Another provider than APNs, if a value of the row names it.
    struct OtherProvider: Sendable {
        let provider: Provider
        let path: FieldPath
        let values: Set<String>

        init(_ provider: Provider, _ path: FieldPath, is values: Set<String>) {
            (self.provider, self.path, self.values) = (provider, path, values)
        }
    }

    /// A condition on one value of a row.
    struct Rule: Sendable {
        let kind: SkippedKind
        let path: FieldPath
        let holds: @Sendable (String) -> Bool

        init(_ kind: SkippedKind, _ path: FieldPath, where holds: @escaping @Sendable (String) -> Bool) {
            (self.kind, self.path, self.holds) = (kind, path, holds)
        }

        /// A flag that is not set: a word that does not mean yes, also one that nobody knows.
        static func unset(_ kind: SkippedKind, _ path: FieldPath) -> Rule {
            Rule(kind, path) { AuthorizationStatus(word: $0) != .authorized }
        }

        /// - Parameter values: in lower case.
        init(_ kind: SkippedKind, _ path: FieldPath, is values: Set<String>) {
            self.init(kind, path) { values.contains($0.lowercased()) }
        }
    }
}

/// The meaning of the value that names a row's provider.
enum ForeignProvider: Hashable, Sendable {
    case provider(Provider)
    /// APNs; the file does not name the environment.
    case apple
    /// This registry has no such provider.
    case skipped(SkippedKind)

    static let fcm = ForeignProvider.provider(.fcm)
    static let webPush = ForeignProvider.provider(.webPush)
    static let huawei = ForeignProvider.provider(.huawei)
}

/// Why a row is not imported, although it has no fault. The raw value stands in the summary.
enum SkippedKind: String, CaseIterable, Sendable {
    case email, sms, voice, voip, adm, baidu, wns, mpns, expo, legacySafari, inApp, custom, openChannel
    case unknownType, noToken, noKeys, otherApp, foreignToken
    case inactive, uninstalled, expired, disabled, unsubscribed, optedOut
    /// Found by the registry: another installation holds the token, or the user was logged out or erased since.
    case heldOrLoggedOut
    /// The app's policy does not allow the push service of the endpoint.
    case pushServiceNotAllowed
}

/// How the text of a value becomes the text of a field.
enum ForeignReading: Sendable {
    case text, upperCased
    /// `ImportedTime` lists the forms; others are missing.
    case time
    /// Seconds east of UTC, also with a fraction of zero.
    case seconds
    /// An IANA name, or a name of Ruby on Rails; others are missing.
    case timeZone
    /// The dotted number at the beginning; others are missing.
    case version
    /// The dotted number in a text such as `iOS 17.4`; others are missing.
    case leadingVersion
    case mapped([String: String])
    /// A name as Apple and Google write it; others stay as they are.
    case systemName
    /// The id in MongoDB's form of a pointer: `_User$g7y9tkhB7O`.
    case pointer

    /// Nil if the text stands for no value.
    func read(_ text: String, _ zones: ForeignTimeZones) -> String? {
        switch self {
        case .text: text
        case .time: ImportedTime.parse(text) == nil ? nil : text
        case .upperCased: text.uppercased()
        case .seconds: Double(text).flatMap { Int(exactly: $0) }.map(String.init)
        case .timeZone: zones.name(text)
        case .version: Self.version(in: text[...])
        case .leadingVersion: text.firstIndex { $0.isNumber }.flatMap { Self.version(in: text[$0...]) }
        case .mapped(let values): values[text.lowercased()]
        case .systemName: Self.systemNames[text.lowercased()] ?? text
        case .pointer: text.split(separator: "$", maxSplits: 1).last.map(String.init)
        }
    }

    private static let systemNames = Dictionary(
        uniqueKeysWithValues: ["iOS", "iPadOS", "macOS", "tvOS", "watchOS", "Android", "HarmonyOS", "Web"].map {
            ($0.lowercased(), $0)
        })

    private static func version(in text: Substring) -> String? {
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let trimmed = number.reversed().drop { $0 == "." }.reversed()
        return trimmed.first?.isNumber == true ? String(trimmed) : nil
    }
}

extension ForeignFormat {
    /// All formats, in the order in which they are tried.
    package static let all: [ForeignFormat] = [.oneSignal, .pinpoint, .sns, .parse, .airship, .azure, .braze]

    package var hasTopics: Bool { tags != nil }
    var elements: ElementSplitter { ElementSplitter(wrappers: wrappers) }

    func fits(_ row: ForeignRow) -> Bool {
        signatures.contains { $0.allSatisfy(row.has) }
    }

    /// Whether the row is a page without rows.
    func isEmptyPage(_ row: ForeignRow) -> Bool {
        wrappers.contains { row.isEmptyList(FieldPath($0)) }
    }
}

/// Where a value stands in a row: the names of nested members, or the name of a column or of an XML element.
package struct FieldPath: Hashable, Sendable, ExpressibleByStringLiteral {
    /// With dots between the members: also the name of a column.
    let text: String
    /// The name of a column: names of columns are compared in any case.
    let column: String
    /// The members from the outermost, as bytes for comparisons with a JSON text.
    let members: [[UInt8]]

    package init(_ text: String) {
        self.text = text
        column = text.lowercased()
        members = text.split(separator: ".").map { Array($0.utf8) }
    }

    package init(stringLiteral text: String) {
        self.init(text)
    }
}
