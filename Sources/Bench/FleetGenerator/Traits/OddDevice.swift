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
