import Basics
import PushRegistry
import StrictJSON

/// The body of `PUT /v1/apps/{app}/installations/{installId}`: token, settings and device of one installation.
///
/// Unknown members are ignored, and unknown values of settings read as `unknown`. All other faults are reported, also
/// those of typed tokens: one that is dropped silently would be lost.
struct RegistrationBody: Sendable {
    /// The JSON text.
    let bytes: [UInt8]
    /// The id in the path. That in the body must be equal.
    let installID: InstallID
    /// Whether the app's policy allows to store the advertising identifier.
    let storesAdvertisingID: Bool
    /// The app's. Choices about others are ignored.
    var topics = TopicCatalogue()
    /// The push services of the app's policy.
    var webPushHosts = WebPushHosts()
    /// Resolves time zone names.
    let links: TimeZoneLinks

    var rules: SentRegistration.ReadingRules {
        SentRegistration.ReadingRules(
            storesAdvertisingID: storesAdvertisingID, webPushHosts: webPushHosts, links: links)
    }

    /// Whether there may be choices about topics, found without reading the text: a backslash may hide the name.
    var mayHaveTopics: Bool {
        bytes.withUnsafeBytes { $0.contains(#"\"#, rare: 0) || $0.contains("topics", rare: 2) }
    }

    /// Reads it.
    ///
    /// - Throws: every fault of the body.
    func read() throws -> RegistrationRequest {
        let document = try JSONDocument(bytes)
        let root = document.root.object()
        let (token, provider, keys) = root?.tokenAndKeys(allowing: webPushHosts) ?? (nil, nil, nil)
        let settings = root?.object("settings")
        let device = root?.object("device", .required)
        let sentSettings = settings?.notificationSettings() ?? NotificationSettings()
        let sentDevice = device?.device(installID, storesAdvertisingID: storesAdvertisingID, links: links)
        let choices = root?.topicChoices() ?? []
        let tokens = root?.typedTokens(of: provider)
        try document.check()
        guard let token, let sentDevice else {
            throw StoreError.failed("a registration lacks a value and a fault")
        }
        return RegistrationRequest(
            token: token, keys: keys, snapshot: Snapshot(settings: sentSettings, device: sentDevice),
            topics: TopicChange.tolerated(choices, in: topics), tokens: tokens)
    }
}

extension JSONObject {
    /// Nil after a fault. Keys are read only for Web Push.
    fileprivate func tokenAndKeys(allowing hosts: WebPushHosts) -> (Token?, Provider?, WebPushKeys?) {
        let (token, provider) = token()
        if let token, !hosts.allows(token) { refuse(member: "token", .pushServiceNotAllowed) }
        return (token, provider, provider == .webPush ? webPushKeys() : nil)
    }

    /// The members `token` and `provider`; nil after a fault.
    func token() -> (token: Token?, provider: Provider?) {
        let text = string("token", .required, scalarsMax: Token.charactersMax)
        guard let provider = provider() else { return (nil, nil) }
        guard let text else { return (nil, provider) }
        return (parsed("token") { () throws(InvalidValue) in try Token(text, of: provider) }, provider)
    }

    /// `apns` by default.
    func provider() -> Provider? {
        guard let value = value("provider") else { return .apns }
        guard let name = value.string(scalarsMax: Device.textScalarsMax) else { return nil }
        guard let provider = Provider(rawValue: name) else {
            let names = Provider.allCases.map(\.rawValue).joined(separator: ", ")
            value.refuse(.unknownProvider, "This must be one of \(names).")
            return nil
        }
        return provider
    }

    private func webPushKeys() -> WebPushKeys? {
        guard let keys = object("keys", .required) else { return nil }
        let p256dh = keys.string("p256dh", .required, scalarsMax: Device.textScalarsMax)
        let auth = keys.string("auth", .required, scalarsMax: Device.textScalarsMax)
        guard let p256dh, let auth else { return nil }
        do throws(WebPushKeys.InvalidKeys) {
            return try WebPushKeys(p256dh: p256dh, auth: auth)
        } catch {
            if let reason = error.p256dh { keys.refuse(member: "p256dh", reason) }
            if let reason = error.auth { keys.refuse(member: "auth", reason) }
            return nil
        }
    }

    fileprivate func notificationSettings() -> NotificationSettings {
        var settings = NotificationSettings()
        var reader = SettingsReader(object: self)
        settings.visitAll(&reader)
        return settings
    }

    /// Nil after a fault of a required member.
    fileprivate func device(
        _ expected: InstallID, storesAdvertisingID: Bool, links: TimeZoneLinks
    ) -> Device? {
        let installID = installID(expected)
        let keychainID = text("keychainId")
        let vendorID = text("vendorId")
        let advertisingID = text("advertisingId")
        let appVersion = text("appVersion")
        let deviceModel = text("deviceModel", .required)
        let systemName = text("systemName", .required)
        let systemVersion = text("systemVersion", .required)
        let locale = text("locale", .required)
        let language = text("language")
        let languages = strings(
            "languages", elementsMax: Device.languagesMax, scalarsMax: Device.textScalarsMax)
        let region = text("region")
        let timeZoneID = text("timeZoneId", .required)
        let timeZoneOffset = integer("timeZoneOffset", .required, in: Device.timeZoneOffsets)
        let carrier = text("carrier")
        let appStore = text("appStore")
        let location = location()
        guard let installID, let deviceModel, let systemName, let systemVersion, let locale, let timeZoneID,
            let timeZoneOffset
        else { return nil }
        return Device(
            installID: installID, keychainID: keychainID, vendorID: vendorID,
            advertisingID: storesAdvertisingID ? advertisingID : nil, appVersion: appVersion,
            deviceModel: deviceModel, systemName: systemName, systemVersion: systemVersion,
            locale: LocaleIdentifier(locale), language: language, languages: languages ?? [], region: region,
            timeZoneID: links.resolve(timeZoneID), timeZoneOffset: Int32(timeZoneOffset), carrier: carrier,
            appStore: appStore, location: location)
    }

    private func installID(_ expected: InstallID) -> InstallID? {
        guard let value = value("installId", .required),
            let text = value.string(scalarsMax: Device.textScalarsMax)
        else { return nil }
        guard text == expected.rawValue else {
            value.refuse(.installIDMismatch, "This must equal the installId of the path.")
            return nil
        }
        return expected
    }

    private func location() -> Location? {
        guard let location = object("location") else { return nil }
        let latitude = location.double("latitude", .required, in: Location.latitudes)
        let longitude = location.double("longitude", .required, in: Location.longitudes)
        guard let latitude, let longitude else { return nil }
        return Location(latitude: latitude, longitude: longitude)
    }

    fileprivate func text(_ name: StaticString, _ presence: JSONPresence = .optional) -> String? {
        string(name, presence, scalarsMax: Device.textScalarsMax)
    }
}

/// Sets each setting from the member of the same name.
private struct SettingsReader: NotificationSettingsVisitor {
    let object: JSONObject

    mutating func visit<Setting: OpenSetting>(_ name: StaticString, _ setting: inout Setting) {
        setting = object.text(name).map(Setting.init(sent:)) ?? .unknown
    }

    mutating func visit(_ name: StaticString, _ flag: inout Bool?) {
        flag = object.boolean(name)
    }
}

extension JSONFault.Code {
    static let unknownProvider = JSONFault.Code(rawValue: "unknown-provider")
    static let pushServiceNotAllowed = JSONFault.Code(rawValue: InvalidValue.pushServiceNotAllowed.code)
    static let installIDMismatch = JSONFault.Code(rawValue: "install-id-mismatch")
}
