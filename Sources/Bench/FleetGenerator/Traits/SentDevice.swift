import PushRegistry

/// A device's description as its client sends it, before canonicalization.
struct SentDevice: Hashable, Sendable {
    var installID: InstallID
    var keychainID: String?
    var vendorID: String?
    var advertisingID: String?
    var appVersion: String?
    var deviceModel: String
    var systemName: String
    var systemVersion: String
    var locale: String
    var language: String?
    var languages: [String]
    var region: String?
    var timeZoneID: String
    var timeZoneOffset: Int32
    var carrier: String?
    var appStore: String?
    var location: Location?

    /// The device as the service stores it.
    func canonical(storesAdvertisingID: Bool, links: TimeZoneLinks) -> Device {
        Device(
            installID: installID, keychainID: keychainID, vendorID: vendorID,
            advertisingID: storesAdvertisingID ? advertisingID : nil, appVersion: appVersion, deviceModel: deviceModel,
            systemName: systemName, systemVersion: systemVersion, locale: LocaleIdentifier(locale), language: language,
            languages: languages, region: region, timeZoneID: links.resolve(timeZoneID),
            timeZoneOffset: timeZoneOffset, carrier: carrier, appStore: appStore, location: location)
    }
}

extension SentDevice {
    private static let carriers = [
        "Vodafone", "T-Mobile", "Airtel", "Jio", "中国移动", "Claro", "MTN", "Orange", "",
    ]

    static func make(
        _ installID: InstallID, of person: Person, on platform: Platform, _ random: inout FleetRandom
    ) -> SentDevice {
        let subtags = person.locale.split(separator: "-").map(String.init)
        var device = SentDevice(
            installID: installID, deviceModel: "", systemName: "", systemVersion: "", locale: person.locale,
            language: subtags[0], languages: [person.locale], region: subtags.last, timeZoneID: person.zone.id,
            timeZoneOffset: person.zone.offset)
        if random.isTrue(0.25), subtags[0] != "en" { device.languages.append("en-\(subtags[subtags.count - 1])") }
        device.appVersion = DeviceWeights.appVersion.pick(&random)
        if random.isTrue(0.1) { device.location = person.zone.randomLocation(&random) }
        switch platform {
        case .ios: device.describeApple(person, &random)
        case .android: device.describeAndroid(&random)
        case .web: device.describeBrowser(&random)
        }
        return device
    }

    private mutating func describeApple(_ person: Person, _ random: inout FleetRandom) {
        let isPad = random.isTrue(0.12)
        deviceModel = isPad ? DeviceWeights.ipad.pick(&random) : DeviceWeights.iphone.pick(&random)
        systemName = isPad ? "iPadOS" : "iOS"
        let version = DeviceWeights.ios.pick(&random)
        systemVersion = version.hasPrefix("26") && isTooOldFor26 ? DeviceWeights.lastForOldModels : version
        // Apple's systems write locales with an underscore.
        locale = locale.replacing("-", with: "_")
        keychainID = person.sharesKeychain ? person.keychainID : random.upperUUID()
        vendorID = random.upperUUID()
        if random.isTrue(0.2) { advertisingID = random.upperUUID() }
        // Since iOS 16 systems report no carrier name.
        if random.isTrue(0.3) { carrier = "--" }
        appStore = random.isTrue(0.97) ? "appStore" : "testFlight"
    }

    /// iOS 26 requires an iPhone 11 or a second SE, `iPhone12,*`.
    private var isTooOldFor26: Bool {
        ["iPhone8,", "iPhone9,", "iPhone10,", "iPhone11,"].contains { deviceModel.hasPrefix($0) }
    }

    private mutating func describeAndroid(_ random: inout FleetRandom) {
        deviceModel = DeviceWeights.androidModel.pick(&random).replacing("-", with: " ")
        systemName = "Android"
        systemVersion = DeviceWeights.android.pick(&random)
        if random.isTrue(0.4) { advertisingID = random.upperUUID().lowercased() }
        if random.isTrue(0.6) { carrier = random.element(of: Self.carriers) }
        appStore = random.isTrue(0.9) ? "googlePlay" : "appGallery"
    }

    private mutating func describeBrowser(_ random: inout FleetRandom) {
        (deviceModel, systemName, systemVersion) = random.element(of: [
            ("Chrome 142", "Windows", "10.0"), ("Chrome 142", "macOS", "10.15.7"), ("Firefox 145", "Linux", ""),
            ("Edge 142", "Windows", "10.0"), ("Safari 26.1", "macOS", "26.1"), ("Chrome 142", "Android", "10"),
        ])
    }
}

/// Odd values that real devices send. One installation in a hundred has one, so that benchmarks and tests with a fleet
/// cover them: old time zone links, locales with keywords or no locale at all, simulators, versions with words.
enum OddDevice: CaseIterable {
    case timeZone, locale, noLocale, model, version

    /// One in this many installations is odd.
    static let oneIn = 100

    private static let timeZones: [(id: String, offset: Int32)] = [
        ("Asia/Calcutta", 19_800), ("Europe/Kiev", 7_200), ("US/Pacific", -28_800), ("GMT", 0), ("Etc/GMT+3", -10_800),
        ("GMT+0530", 19_800),
    ]
    private static let locales = [
        "en_US@rg=gbzzzz", "de_CH", "sr-Latn-RS", "zh-Hant-HK", "ca-ES-valencia", "en-001", "es-419",
    ]
    private static let models = ["iPhone0,0", "x86_64", "arm64"]
    private static let versions = ["26.0", "26.0.1", "26.1 beta", "18.7.2"]

    func apply(to device: inout SentDevice, _ random: inout FleetRandom) {
        switch self {
        case .timeZone: (device.timeZoneID, device.timeZoneOffset) = random.element(of: Self.timeZones)
        case .locale: device.locale = random.element(of: Self.locales)
        case .noLocale: (device.locale, device.language, device.languages, device.region) = ("", nil, [], nil)
        case .model: device.deviceModel = random.element(of: Self.models)
        case .version: device.systemVersion = random.element(of: Self.versions)
        }
    }
}
