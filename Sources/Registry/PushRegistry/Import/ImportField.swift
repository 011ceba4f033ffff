/// The fields of a line of an import, by the names of an export.
public enum ImportField: Int, CaseIterable, Hashable, Sendable {
    case installID, provider, token, p256dh, auth, generation, userID, sessionID, sessionExpiresAt
    case keychainID, vendorID, languages
    case locale, language, region, timeZone, utcOffset, systemName, osVersion, appVersion, deviceModel, carrier,
        appStore
    case authorizationStatus, soundSetting, badgeSetting, alertSetting, notificationCenterSetting, lockScreenSetting
    case carPlaySetting, criticalAlertSetting, announcementSetting, alertStyle, showPreviewsSetting
    case providesAppNotificationSettings
    case createdAt, lastSeenAt, location

    /// The JSON type of a field's value.
    public enum Kind: Hashable, Sendable {
        /// A text, a number or a flag.
        case scalar
        case location
        /// An array of strings; in CSV its JSON text.
        case texts
    }

    /// The name in files. In NDJSON, the keys of a Web Push subscription are members of `keys`.
    public var name: String {
        switch self {
        case .installID: "installId"
        case .userID: "userId"
        case .sessionID: "sessionId"
        case .keychainID: "keychainId"
        case .vendorID: "vendorId"
        default: String(describing: self)
        }
    }

    public init?(_ name: String) {
        guard let field = Self.byName[name] ?? Self.byNameOfExport[name] else { return nil }
        self = field
    }

    public var kind: Kind {
        switch self {
        case .location: .location
        case .languages: .texts
        default: .scalar
        }
    }

    /// Whether it identifies an installation, its user or its device.
    var identifies: Bool {
        switch self {
        case .installID, .token, .p256dh, .auth, .userID, .sessionID, .keychainID, .vendorID: true
        default: false
        }
    }

    /// Fields whose name in an export differs from that in a registration.
    private static let byNameOfExport: [String: ImportField] = ["preferredLanguages": .languages]

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
}

/// The values of one line as texts: a flag is `true` or `false`, a location `52.52 13.4`, a list its JSON text.
public struct ImportRecord: Hashable, Sendable {
    private var texts = [String?](repeating: nil, count: ImportField.allCases.count)

    public init() {}

    /// Nil if the line has no value.
    public subscript(field: ImportField) -> String? {
        get { texts[field.rawValue] }
        set { texts[field.rawValue] = newValue }
    }
}

/// One fault of a line. It never quotes the line, which may contain a token.
public struct ImportFault: Hashable, Sendable {
    /// The field's name; empty for the line as a whole.
    public let field: String
    public let reason: InvalidValue

    public init(_ field: String, _ reason: InvalidValue) {
        (self.field, self.reason) = (field, reason)
    }

    public init(_ field: String = "", code: String, _ detail: String) {
        self.init(field, InvalidValue(code: code, detail: detail))
    }
}

/// All faults of a line; never empty when thrown.
public struct ImportFaults: Error, Hashable, Sendable {
    public let faults: [ImportFault]

    public init(_ faults: [ImportFault]) {
        self.faults = faults
    }
}

/// The values that an import did not understand, and how many rows have each.
public struct NotUnderstood: Hashable, Sendable {
    /// Values of a field that are named.
    private static let valuesMax = 20
    /// Stands for the values that are not named.
    public static let others = "(others)"

    /// By the field's name and the value.
    public private(set) var counts: [String: [String: Int]] = [:]

    public init() {}

    public mutating func add(_ field: ImportField, _ value: String) {
        let known = counts[field.name] ?? [:]
        let named = Self.printable(value).flatMap { known[$0] != nil || known.count < Self.valuesMax ? $0 : nil }
        counts[field.name, default: [:]][named ?? Self.others, default: 0] += 1
    }

    /// The text if it may be printed. Nil for one that may be a token, an address or a telephone number: a column may
    /// have been mapped wrongly, or a file may have no header.
    public static func printable(_ text: String) -> String? {
        let characters = text.unicodeScalars
        guard characters.count <= 40, characters.filter({ $0.properties.numericType != nil }).count <= 6,
            characters.allSatisfy({ $0.properties.isAlphabetic || " 0123456789_.:/+-()&',".unicodeScalars.contains($0) }
            )
        else { return nil }
        return text
    }
}
