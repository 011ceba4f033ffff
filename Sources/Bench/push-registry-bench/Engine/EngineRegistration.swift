import StrictJSON

/// Decodes a registration's body: each member into its own value, as the service and Hummingbird's server do.
struct EngineRegistration {
    private static let tokenScalarsMax = 4_096

    private let token: String
    private let provider: String?
    private let p256dh: String?
    private let auth: String?
    private let settings: EngineSettings?
    private let device: EngineDevice

    /// - Throws: every fault of the body.
    init(_ body: [UInt8]) throws(JSONFaults) {
        let document = try JSONDocument(body)
        let root = document.root.object()
        let token = root?.string("token", .required, scalarsMax: Self.tokenScalarsMax)
        provider = root?.text("provider")
        let keys = root?.object("keys")
        p256dh = keys?.text("p256dh", .required)
        auth = keys?.text("auth", .required)
        settings = (root?.object("settings")).map(EngineSettings.init)
        let device = (root?.object("device", .required)).map(EngineDevice.init)
        try document.check()
        guard let token, let device else { preconditionFailure("a missing value is a fault") }
        (self.token, self.device) = (token, device)
    }

    var size: Int { token.utf8.count + (device.installID?.utf8.count ?? 0) }
}

/// The settings of a registration.
private struct EngineSettings {
    private let authorizationStatus: String?
    private let soundSetting: String?
    private let badgeSetting: String?
    private let alertSetting: String?
    private let notificationCenterSetting: String?
    private let lockScreenSetting: String?
    private let carPlaySetting: String?
    private let criticalAlertSetting: String?
    private let announcementSetting: String?
    private let alertStyle: String?
    private let showPreviewsSetting: String?
    private let providesAppNotificationSettings: Bool?

    init(_ object: JSONObject) {
        authorizationStatus = object.text("authorizationStatus")
        soundSetting = object.text("soundSetting")
        badgeSetting = object.text("badgeSetting")
        alertSetting = object.text("alertSetting")
        notificationCenterSetting = object.text("notificationCenterSetting")
        lockScreenSetting = object.text("lockScreenSetting")
        carPlaySetting = object.text("carPlaySetting")
        criticalAlertSetting = object.text("criticalAlertSetting")
        announcementSetting = object.text("announcementSetting")
        alertStyle = object.text("alertStyle")
        showPreviewsSetting = object.text("showPreviewsSetting")
        providesAppNotificationSettings = object.boolean("providesAppNotificationSettings")
    }
}

/// The device of a registration. A missing required member is a fault of the document.
private struct EngineDevice {
    private static let languagesMax = 32

    let installID: String?
    private let keychainID: String?
    private let vendorID: String?
    private let advertisingID: String?
    private let appVersion: String?
    private let deviceModel: String?
    private let systemName: String?
    private let systemVersion: String?
    private let locale: String?
    private let language: String?
    private let languages: [String]?
    private let region: String?
    private let timeZoneID: String?
    private let timeZoneOffset: Int64?
    private let carrier: String?
    private let appStore: String?
    private let latitude: Double?
    private let longitude: Double?

    init(_ object: JSONObject) {
        installID = object.text("installId", .required)
        keychainID = object.text("keychainId")
        vendorID = object.text("vendorId")
        advertisingID = object.text("advertisingId")
        appVersion = object.text("appVersion")
        deviceModel = object.text("deviceModel", .required)
        systemName = object.text("systemName", .required)
        systemVersion = object.text("systemVersion", .required)
        locale = object.text("locale", .required)
        language = object.text("language")
        languages = object.strings("languages", elementsMax: Self.languagesMax, scalarsMax: JSONObject.textScalarsMax)
        region = object.text("region")
        timeZoneID = object.text("timeZoneId", .required)
        timeZoneOffset = object.integer("timeZoneOffset", .required)
        carrier = object.text("carrier")
        appStore = object.text("appStore")
        let location = object.object("location")
        latitude = location?.double("latitude", .required, in: -90...90)
        longitude = location?.double("longitude", .required, in: -180...180)
    }
}

extension JSONObject {
    fileprivate static let textScalarsMax = 256

    fileprivate func text(_ name: StaticString, _ presence: JSONPresence = .optional) -> String? {
        string(name, presence, scalarsMax: Self.textScalarsMax)
    }
}
