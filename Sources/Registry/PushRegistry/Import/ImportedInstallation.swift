import Foundation

/// An installation from another system: what the registry assumes about it until its app registers.
public struct ImportedInstallation: Hashable, Sendable {
    public let token: Token
    /// Present exactly for Web Push.
    public let keys: WebPushKeys?
    public let userID: UserID?
    /// The user's session.
    public let session: Owner.Session?
    /// The generation that clients last saw. The registry's own generations begin above it.
    public let generation: Int64?
    public let createdAt: Timestamp?
    public let lastSeenAt: Timestamp?
    public let snapshot: Snapshot
    /// The choices on the installation.
    public var topicChoices = TopicChoices()

    public var installID: InstallID { snapshot.device.installID }
}

/// Turns lines into installations, in the same canonical form as registrations.
///
/// `installId`, `token` and the keys of Web Push are required. Other members that a registration requires get a neutral
/// value if the line lacks them (`NeutralValues`): other systems often do not know them.
public struct ImportReader: Sendable {
    private let links: TimeZoneLinks
    /// A registry's first generation follows from the time, and later ones grow more slowly than the clock. So one
    /// above the current microsecond is of no registry.
    private let generations: ClosedRange<Int64>
    /// When installations without a date were seen; nil: now.
    package var lastSeenDefault: Timestamp?
    private let providerDefault: Provider
    private let assumesAuthorization: Bool
    private var offsets: [String: Int32] = [:]
    /// Of the valid lines so far.
    public var notUnderstood = NotUnderstood()

    /// - Parameters:
    ///   - now: when the import begins.
    ///   - lastSeenDefault: when installations without a date were seen; nil: now.
    ///   - providerDefault: of lines that name none; `apns`, as in a registration.
    ///   - assumesAuthorization: whether installations of APNs without a status count as authorized until their first
    ///     registration.
    public init(
        links: TimeZoneLinks, now: Timestamp = .now(), lastSeenDefault: Timestamp? = nil,
        providerDefault: Provider = .apns, assumesAuthorization: Bool = false
    ) {
        (self.links, self.lastSeenDefault, self.providerDefault) = (links, lastSeenDefault, providerDefault)
        self.assumesAuthorization = assumesAuthorization
        generations = 1...max(1, now.microseconds)
    }

    /// A line without the date of the last visit was seen when it was created, if it says that.
    ///
    /// - Throws: every fault of the line.
    public mutating func installation(_ record: ImportRecord) throws(ImportFaults) -> ImportedInstallation {
        var fields = FieldReader(record)
        let installID = fields.required(.installID) { text throws(InvalidValue) in try InstallID(text) }
        let provider = fields.provider(default: providerDefault)
        let token = fields.required(.token) { text throws(InvalidValue) in try Token(text, of: provider ?? .fcm) }
        let keys = provider == .webPush ? fields.keys() : nil
        let userID = fields.strict(.userID) { text throws(InvalidValue) in try UserID(text) }
        let session = fields.session(of: userID)
        let generation = fields.integer(.generation, in: generations)
        let createdAt = fields.time(.createdAt)
        let lastSeenAt = fields.time(.lastSeenAt) ?? createdAt ?? lastSeenDefault
        var settings = fields.settings()
        let isUnknown = settings.authorizationStatus == .unknown && provider?.isApple == true
        settings.authorizationAssumed = assumesAuthorization && isUnknown
        let device = device(&fields, installID, provider ?? .fcm)
        guard fields.faults.isEmpty, let token, let device else { throw ImportFaults(fields.faults) }
        for (field, value) in fields.notUnderstood { notUnderstood.add(field, value) }
        return ImportedInstallation(
            token: token, keys: keys, userID: userID, session: session, generation: generation, createdAt: createdAt,
            lastSeenAt: lastSeenAt, snapshot: Snapshot(settings: settings, device: device))
    }

    private mutating func device(
        _ fields: inout FieldReader, _ installID: InstallID?, _ provider: Provider
    ) -> Device? {
        let (language, region) = (fields.text(.language), fields.text(.region))
        let locale = fields.text(.locale) ?? NeutralValues.locale(language: language, region: region)
        let (zone, offset) = zone(&fields)
        let (keychainID, vendorID, appVersion) = (
            fields.text(.keychainID), fields.text(.vendorID), fields.text(.appVersion)
        )
        let (deviceModel, systemName) = (fields.text(.deviceModel), fields.text(.systemName))
        let (systemVersion, carrier, appStore) = (
            fields.text(.osVersion), fields.text(.carrier), fields.text(.appStore)
        )
        let (languages, location) = (fields.languages() ?? [], fields.location())
        guard let installID else { return nil }
        return Device(
            installID: installID, keychainID: keychainID, vendorID: vendorID, appVersion: appVersion,
            deviceModel: deviceModel ?? NeutralValues.unknown,
            systemName: systemName ?? NeutralValues.systemName(of: provider),
            systemVersion: systemVersion ?? NeutralValues.unknown, locale: LocaleIdentifier(locale), language: language,
            languages: languages, region: region, timeZoneID: zone, timeZoneOffset: offset, carrier: carrier,
            appStore: appStore, location: location)
    }

    /// Without a name, the offset counts if there is one. With a name but no offset, the offset is the zone's current
    /// one. A name that tzdata does not have is kept beside an offset, as in a registration; without one it is no zone.
    private mutating func zone(_ fields: inout FieldReader) -> (String, Int32) {
        let offset = fields.integer(.utcOffset, in: Device.timeZoneOffsets).map { Int32($0) }
        guard let sent = fields.text(.timeZone), !sent.isEmpty else {
            return (Device.noTimeZone, offset ?? Device.noTimeZoneOffset)
        }
        guard links.isKnown(sent) else {
            fields.notUnderstood.append((.timeZone, sent))
            return offset.map { (sent, $0) } ?? (Device.noTimeZone, Device.noTimeZoneOffset)
        }
        let zone = links.resolve(sent)
        return (zone, offset ?? currentOffset(of: zone))
    }

    private mutating func currentOffset(of zone: String) -> Int32 {
        if let known = offsets[zone] { return known }
        let offset = Int32(TimeZone(identifier: zone)?.secondsFromGMT() ?? 0)
        offsets[zone] = offset
        return offset
    }
}

/// The values of members that a registration requires and that a line lacks.
enum NeutralValues {
    /// For the device model and the system version.
    static let unknown = "unknown"

    static func systemName(of provider: Provider) -> String {
        switch provider {
        case .apns, .apnsSandbox: "iOS"
        case .fcm: "Android"
        case .huawei: "HarmonyOS"
        case .webPush: "Web"
        }
    }

    /// `und` is the BCP 47 code of an undetermined language.
    static func locale(language: String?, region: String?) -> String {
        [language.flatMap { $0.isEmpty ? nil : $0 } ?? "und", region.flatMap { $0.isEmpty ? nil : $0 }]
            .compactMap { $0 }.joined(separator: "_")
    }
}
