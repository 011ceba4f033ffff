/// The device of an installation, as its client last described it, in canonical form.
///
/// Only the identifiers take part in decisions. Other texts are kept as sent, the empty string too: emulators have no
/// carrier, some fleets no locale. The readers of bodies enforce the limits below.
public struct Device: Hashable, Sendable {
    /// The most Unicode scalars of a string.
    public static let textScalarsMax = 256
    public static let languagesMax = 32
    /// Seconds east of UTC. No zone was ever more than 16 hours from UTC; ISO 8601 parsers such as Java's accept 18.
    public static let timeZoneOffsets: ClosedRange<Int64> = -64_800...64_800

    /// Marks an imported installation whose zone is not known; its offset, if any, is used. No client can send this
    /// code point: it is a noncharacter (Unicode 23.7).
    public static let noTimeZone = "\u{10FFFF}"
    /// The offset of an imported installation of which neither the zone nor the offset is known. No client can send it.
    public static let noTimeZoneOffset = Int32.max

    public var installID: InstallID
    /// Survives a reinstall, and is shared by the devices of an iCloud keychain. Never empty.
    public var keychainID: String?
    /// Apple's identifier for vendor: one device, until all the vendor's apps are removed. Never empty.
    public var vendorID: String?
    /// Kept only if the app's policy says so. Never empty.
    public var advertisingID: String?
    public var appVersion: String?
    public var deviceModel: String
    public var systemName: String
    public var systemVersion: String
    public var locale: LocaleIdentifier
    public var language: String?
    public var languages: [String]
    public var region: String?
    /// A resolved IANA name; an unknown name is kept as sent. `noTimeZone` means no zone.
    public var timeZoneID: String
    /// Seconds east of UTC; used if the name is unknown.
    public var timeZoneOffset: Int32
    public var carrier: String?
    public var appStore: String?
    public var location: Location?

    /// Nil if it is not known.
    public var zoneName: String? { timeZoneID == Self.noTimeZone ? nil : timeZoneID }

    /// Seconds east of UTC as they were sent; nil if an import knew neither zone nor offset.
    public var zoneOffset: Int32? { timeZoneOffset == Self.noTimeZoneOffset ? nil : timeZoneOffset }

    /// An identifier that identifies nobody becomes nil: two devices without one must not look like the same device.
    /// Languages get CLDR's canonical codes.
    public init(
        installID: InstallID, keychainID: String? = nil, vendorID: String? = nil, advertisingID: String? = nil,
        appVersion: String? = nil, deviceModel: String, systemName: String, systemVersion: String,
        locale: LocaleIdentifier, language: String? = nil, languages: [String] = [], region: String? = nil,
        timeZoneID: String, timeZoneOffset: Int32, carrier: String? = nil, appStore: String? = nil,
        location: Location? = nil
    ) {
        self.installID = installID
        self.keychainID = keychainID?.identifier
        self.vendorID = vendorID?.identifier
        self.advertisingID = advertisingID?.identifier
        (self.appVersion, self.deviceModel, self.systemName) = (appVersion, deviceModel, systemName)
        (self.systemVersion, self.locale) = (systemVersion, locale)
        self.language = language.map(LanguageAliases.canonical)
        self.languages = languages.map(LanguageAliases.canonical)
        (self.region, self.timeZoneID, self.timeZoneOffset) = (region, timeZoneID, timeZoneOffset)
        (self.carrier, self.appStore, self.location) = (carrier, appStore, location)
    }
}

/// The state of the device and its settings in a registration, without the token.
public struct Snapshot: Hashable, Sendable {
    public var settings: NotificationSettings
    public var device: Device

    public init(settings: NotificationSettings, device: Device) {
        (self.settings, self.device) = (settings, device)
    }
}

extension String {
    /// Whether a program has written this for a missing value: `NULL`, MySQL's `\N`, `(null)` of Objective-C.
    package var isNull: Bool { isOne(of: Self.nulls) }

    /// Whether this is nobody's identifier: blank, or written for a missing value, or only zeros, as in the identifiers
    /// that iOS gives when it has none.
    package var identifiesNobody: Bool {
        guard utf8.count <= 16 else { return utf8.allSatisfy(Self.zeros.contains) }
        let text = VisibleASCII.contains(self) ? self : trimmingSpaces()
        return text.isNull || text.isOne(of: Self.nothings) || text.utf8.allSatisfy(Self.zeros.contains)
    }

    /// In any case.
    private func isOne(of words: [[UInt8]]) -> Bool {
        words.contains { $0.count == utf8.count && $0.elementsEqual(utf8.lazy.map(ASCII.lowercased)) }
    }

    private static let nulls = ["null", "\\n", "(null)", "<null>", "undefined"].map { Array($0.utf8) }
    private static let nothings = ["nil", "none", "nan"].map { Array($0.utf8) }
    private static let zeros = Array(" 0-{}".utf8)

    fileprivate var identifier: String? { identifiesNobody ? nil : self }
}
