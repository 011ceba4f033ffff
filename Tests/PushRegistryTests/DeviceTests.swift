import Basics
import PushRegistry
import Testing

@Suite("A locale has one canonical text")
struct LocaleIdentifierTests {
    @Test(arguments: [
        ("de", "de"), ("DE", "de"), ("de-DE", "de_DE"), ("de_de", "de_DE"), ("zh-hans-cn", "zh_Hans_CN"),
        ("zh_Hans_CN", "zh_Hans_CN"), ("zh_hans_CN", "zh_Hans_CN"), ("zh_Hans_cn", "zh_Hans_CN"),
        ("zh_HanS_CN", "zh_Hans_CN"), ("zh-Hans_CN", "zh_Hans_CN"), ("en_US_1996", "en_US_1996"), ("de_de", "de_DE"),
        ("ZH_HANT", "zh_Hant"), ("es-419", "es_419"), ("de_DE@calendar=gregorian;currency=EUR", "de_DE"),
        ("de-DE-u-ca-gregory", "de_DE"), ("en-US-x-test", "en_US"), ("de_DE.UTF-8", "de_DE"),
        ("de_DE.UTF-8@euro", "de_DE"),
        ("ca-es-valencia", "ca_ES_VALENCIA"), ("de-1996", "de_1996"), ("en_US_POSIX", "en_US_POSIX"),
        ("fil-PH", "fil_PH"),
        ("sr-Latn", "sr_Latn"),
        // CLDR's aliases.
        ("iw", "he"), ("iw_IL", "he_IL"), ("in_ID", "id_ID"), ("ji", "yi"), ("deu-DE", "de_DE"), ("tl_PH", "fil_PH"),
        ("IW_Hebr_IL", "he_Hebr_IL"), ("iw_Hebr_IL", "he_Hebr_IL"), ("sh_BA", "sr_Latn_BA"), ("sh_Cyrl", "sr_Cyrl"),
        ("prs", "fa_AF"), ("no_NO", "no_NO"),
        // Java's Locale.toString().
        ("zh_CN_#Hans", "zh_Hans_CN"), ("zh__#Hans", "zh_Hans"), ("sr_RS_#Latn", "sr_Latn_RS"),
        ("en_US_#u-mu-celsius", "en_US"), ("ar_EG_#u-nu-latn", "ar_EG"),
        ("zh_TW_#Hant_u-ca-roc", "zh_Hant_TW"),
        ("th_TH_TH_#u-nu-thai", "th_TH"), ("iw_IL_#Hebr", "he_Hebr_IL"), ("de__POSIX_#Latn", "de_Latn_POSIX"),
        ("de_#x", "de"), ("de-DE-u", "de_DE"),
    ])
    func locale_isCanonical_whenItCanBeParsed(sent: String, kept: String) {
        let locale = LocaleIdentifier(sent)
        #expect(locale.text == kept)
        #expect(locale.isParsed)
        #expect(LocaleIdentifier(kept) == locale)
    }

    @Test(arguments: [
        "", " ", "d", "german", "de_", "_DE", "de__DE", "de-DE-", "de DE", "@calendar=x", "C", "POSIX",
        "_#Hans", "#", "_CN_#Hans",
        "dé", "zh_Hans_C1", "zh_Ha1s_CN", "1h_Hans_CN",
        "de_DE_DE", "de-DE-abcdefghi", "12",
    ])
    func locale_isKeptAsSent_whenItCannotBeParsed(sent: String) {
        let locale = LocaleIdentifier(sent)
        #expect(locale.text == sent)
        #expect(!locale.isParsed)
        #expect(locale.ancestry == [sent])
    }

    @Test(arguments: [
        ("de_AT", "de", true), ("de", "de", true), ("den", "de", false), ("de", "de_AT", false),
        ("zh_Hans_CN", "zh_Hans", true), ("zh_Hans_CN", "zh", true), ("zh_Hans_CN", "zh_CN", false),
        ("de_#x", "de", true), ("german", "germ", false), ("german", "german", true), ("iw_IL", "he", true),
        ("he_IL", "iw", true),
    ])
    func locale_liesInMoreGeneralOnes(inner: String, outer: String, expected: Bool) {
        #expect(LocaleIdentifier(inner).ancestry.contains(LocaleIdentifier(outer).text) == expected)
    }

    @Test func ancestry_beginsWithTheMostGeneral() {
        #expect(LocaleIdentifier("zh-Hans-CN").ancestry == ["zh", "zh_Hans", "zh_Hans_CN"])
    }
}

@Suite("Versions are ordered as numbers")
struct VersionTests {
    @Test(
        arguments: [
            ("17", [17]), ("17.0", [17]), ("17.0.0", [17]), ("17.10", [17, 10]), ("17.0.1", [17, 0, 1]), ("0", []),
            ("0.0", []), ("007", [7]), ("18.5 (22F76)", [18, 5]), ("1.2-beta.3", [1, 2]), ("3.", [3]), ("3..4", [3]),
            ("99999999999999999999.1", [.max, 1]), ("20251121093000", [20_251_121_093_000]),
        ] as [(String, [Int64])])
    func version_isTheLeadingNumber(text: String, components: [Int64]) {
        #expect(Version(text)?.components == components)
    }

    @Test(arguments: ["", "beta", "v17", ".5", " 1", "-1", "١٧"])
    func version_isNil_whenTextDoesNotBeginWithADigit(text: String) {
        #expect(Version(text) == nil)
    }

    @Test func versions_areOrderedNumberByNumber() {
        let ascending = ["0", "0.1", "1", "16.7.10", "17.0", "17.0.1", "17.2", "17.9", "17.10", "18"]
        let versions = ascending.compactMap { Version($0) }
        #expect(versions == versions.sorted())
        #expect(Set(versions).count == ascending.count)
        #expect(Version("17") == Version("17.0.0"))
    }

    @Test func version_isBounded_whenTextIsLong() {
        let version = Version(String(repeating: "1.", count: 128))
        #expect(version?.components.count == Version.componentsMax)
    }
}

@Suite("Unknown names of settings read as unknown")
struct NotificationSettingsTests {
    @Test func setting_isUnknown_whenItsNameIsUnknown() {
        #expect(AuthorizationStatus(sent: "authorized") == .authorized)
        #expect(AuthorizationStatus(sent: "Authorized") == .unknown)
        #expect(NotificationSetting(sent: "somethingNew") == .unknown)
        #expect(AlertStyle(sent: "none") == AlertStyle.none)
        #expect(ShowPreviewsSetting(sent: "") == .unknown)
    }

    @Test func names_areThoseOfTheAPI() {
        #expect(
            AuthorizationStatus.allCases.map(\.rawValue)
                == ["notDetermined", "denied", "authorized", "provisional", "ephemeral", "unknown"])
        #expect(NotificationSetting.allCases.map(\.rawValue) == ["notSupported", "disabled", "enabled", "unknown"])
        #expect(AlertStyle.allCases.map(\.rawValue) == ["none", "banner", "alert", "unknown"])
        #expect(ShowPreviewsSetting.allCases.map(\.rawValue) == ["always", "whenAuthenticated", "never", "unknown"])
        #expect(
            EventKind.allCases.map(\.rawValue).joined(separator: " ")
                == "registered rotated takenOver superseded loggedOut sessionEnded suspect unregistered stale "
                + "reactivated deleted erased imported logoutIgnored topicsChanged tokenMoved")
    }
}

@Suite("A location is rounded to two decimals")
struct LocationTests {
    @Test(arguments: [
        (52.5200066, 13.404954, 52.52, 13.4), (-33.868, 151.2093, -33.87, 151.21), (90, -180, 90, -180),
        (0.001, -0.001, 0, 0),
    ])
    func location_isRounded(latitude: Double, longitude: Double, north: Double, east: Double) throws {
        let location = try #require(Location(latitude: latitude, longitude: longitude))
        #expect(location.latitude == north && location.longitude == east)
        #expect(location.latitude.sign == .plus || location.latitude < 0)
        #expect(location.longitude.sign == .plus || location.longitude < 0)
    }

    @Test(arguments: [(90.001, 0), (-90.001, 0), (0, 180.001), (.nan, 0), (0, .infinity)] as [(Double, Double)])
    func location_isNil_whenOutOfRange(latitude: Double, longitude: Double) {
        #expect(Location(latitude: latitude, longitude: longitude) == nil)
    }
}

@Suite("A language has one code")
struct LanguageTests {
    @Test(arguments: [
        ("iw", "he"), ("in-ID", "id-ID"), ("ji", "yi"), ("IW", "he"), ("sh-BA", "sr-BA"), ("de", "de"), ("", ""),
        ("zh-Hans-CN", "zh-Hans-CN"), ("german", "german"),
    ])
    func code_isCanonical_inDevicesAndFilters(sent: String, kept: String) throws {
        let device = Device(
            installID: try InstallID("i"), deviceModel: "", systemName: "", systemVersion: "",
            locale: LocaleIdentifier(""), language: sent, languages: ["de", sent], timeZoneID: "", timeZoneOffset: 0)
        #expect(device.language == kept && device.languages == ["de", kept])
        let vocabulary = FilterVocabulary(links: TimeZoneLinks(zones: "", table: ""))
        #expect(try AudienceField.language.value(sent, in: vocabulary) == .text(ExactText(kept)))
        #expect(try AudienceField.region.value("in", in: vocabulary) == .text("in"))
    }
}

@Suite("Identifiers of nobody never make two devices look like one")
struct DeviceTests {
    @Test(arguments: [
        "", "  ", "0", "00000000-0000-0000-0000-000000000000", "(null)", "null", "NULL", "undefined", "nil", "<null>",
        String(repeating: "0", count: 256),
    ])
    func identifiers_areAbsent_whenTheyIdentifyNobody(text: String) throws {
        let device = Device(
            installID: try InstallID("i"), keychainID: text, vendorID: text, advertisingID: text, deviceModel: "",
            systemName: "",
            systemVersion: "", locale: LocaleIdentifier(""), timeZoneID: "", timeZoneOffset: 0, carrier: "")
        #expect(device.keychainID == nil && device.vendorID == nil && device.advertisingID == nil)
        #expect(device.carrier == "" && device.deviceModel == "" && device.locale.text == "")
    }
}
