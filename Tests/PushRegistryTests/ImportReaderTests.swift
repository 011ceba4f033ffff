import PushRegistry
import Testing

@Suite("Missing values of a line become neutral ones, and present values canonical")
struct ImportReaderTests {
    private let links = TimeZoneLinks(
        zones:
            """
            Z Europe/Berlin 1 - CET
            Z Etc/UTC 0 - UTC
            L Etc/UTC UTC
            Z Asia/Kolkata 5:30 - IST
            L Asia/Kolkata Asia/Calcutta
            """,
        table: "DE\t+0\tEurope/Berlin\nIN\t+0\tAsia/Kolkata")

    private func read(
        _ values: [ImportField: String], assumesAuthorization: Bool = false
    ) throws(ImportFaults) -> ImportedInstallation {
        var reader = ImportReader(
            links: links, now: Timestamp(microseconds: 1_000), assumesAuthorization: assumesAuthorization)
        var record = ImportRecord()
        for (field, value) in values { record[field] = value }
        return try reader.installation(record)
    }

    @Test func missingValues_areNeutral_andTimesAreNil() throws {
        let installation = try read([.installID: "phone", .token: "0123456789ABCDEF"])
        #expect(installation.token.text == "0123456789abcdef")
        #expect(installation.token.provider == .apns)
        #expect(installation.lastSeenAt == nil)
        #expect(installation.createdAt == nil)
        #expect(
            installation.snapshot
                == Snapshot(
                    settings: NotificationSettings(),
                    device: Device(
                        installID: try InstallID("phone"), deviceModel: "unknown", systemName: "iOS",
                        systemVersion: "unknown", locale: LocaleIdentifier("und"),
                        timeZoneID: Device.noTimeZone, timeZoneOffset: Device.noTimeZoneOffset)))
    }

    @Test(
        arguments: [
            (nil, "de", nil, "de"), (nil, "de", "AT", "de_AT"), (nil, nil, "AT", "und_AT"),
            ("fr-ca", "de", "AT", "fr_CA"),
        ] as [(String?, String?, String?, String)])
    func locale_comesFromLanguageAndRegion_whenItIsMissing(
        locale: String?, language: String?, region: String?, expected: String
    ) throws {
        var values: [ImportField: String] = [.installID: "a", .provider: "fcm", .token: "t"]
        (values[.locale], values[.language], values[.region]) = (locale, language, region)
        #expect(try read(values).snapshot.device.locale.text == expected)
    }

    @Test(
        arguments: [
            ("Asia/Calcutta", nil, "Asia/Kolkata", 19_800), (nil, "3600", Device.noTimeZone, 3_600),
            ("Mars/Base", "60", "Mars/Base", 60),
            ("Mars/Base", nil, Device.noTimeZone, Device.noTimeZoneOffset), ("Europe/Belin", "0", "Europe/Belin", 0),
            ("", nil, Device.noTimeZone, Device.noTimeZoneOffset), ("Europe/Berlin", "7200", "Europe/Berlin", 7_200),
        ] as [(String?, String?, String, Int32)])
    func timeZone_isResolved_andAnOffsetWithoutANameCounts(
        zone: String?, offset: String?, expected: String, expectedOffset: Int32
    ) throws {
        var values: [ImportField: String] = [.installID: "a", .provider: "fcm", .token: "t"]
        (values[.timeZone], values[.utcOffset]) = (zone, offset)
        let device = try read(values).snapshot.device
        #expect(device.timeZoneID == expected)
        #expect(device.timeZoneOffset == expectedOffset)
    }

    @Test(
        arguments: [
            ("authorized", .authorized), ("TRUE", .authorized), ("1", .authorized), ("yes", .authorized),
            ("opted_in", .authorized), ("optedIn", .authorized), ("Subscribed", .authorized), ("granted", .authorized),
            ("denied", .denied), ("false", .denied), ("No ", .denied), ("0", .denied), ("unsubscribed", .denied),
            ("opted-out", .denied), ("default", .notDetermined), ("provisional", .provisional), ("unknown", .unknown),
            ("", .unknown), ("nope", .notDetermined), ("NULL", .notDetermined), ("2", .notDetermined),
        ] as [(String, AuthorizationStatus)])
    func authorization_isReadByATable_andAWordOutsideItIsNotReachable(word: String, expected: AuthorizationStatus)
        throws
    {
        for (provider, token) in [("fcm", "t"), ("huawei", "t"), ("apns", "0123456789abcdef")] {
            let values: [ImportField: String] = [
                .installID: "a", .provider: provider, .token: token, .authorizationStatus: word,
            ]
            let settings = try read(values, assumesAuthorization: true).snapshot.settings
            #expect(settings.authorizationStatus == expected)
            #expect(settings.authorizationAssumed == (expected == .unknown && provider == "apns"))
        }
    }

    @Test(arguments: [("+", "/", "="), ("-", "_", ""), ("-", "_", "=")])
    func webPushKeys_areTakenInBothAlphabetsOfBase64(plus: String, slash: String, padding: String) throws {
        let values: [ImportField: String] = [
            .installID: "a", .provider: "webPush", .token: "https://push.example.com/1",
            .p256dh: "BP\(slash)" + String(repeating: plus, count: 83) + "8\(padding)",
            .auth: String(repeating: slash, count: 21) + "w" + padding + padding,
        ]
        let keys = try #require(try read(values).keys)
        #expect(keys.p256dh == "BP_" + String(repeating: "-", count: 83) + "8")
        #expect(keys.auth == String(repeating: "_", count: 21) + "w")
    }

    @Test func valuesThatAreNotUnderstood_areCounted_butNoSecrets() throws {
        var reader = ImportReader(links: links)
        for (zone, word) in [
            ("Europe/Belin", "nope"), ("Europe/Belin", "true"), ("0123456789abcdef", "bob@example.com"),
            (String(repeating: "x", count: 41), "+49 170 123"), ("Asia/Calcutta", ""),
        ] {
            var record = ImportRecord()
            (record[.installID], record[.provider], record[.token]) = ("a", "fcm", "t")
            (record[.timeZone], record[.authorizationStatus], record[.alertStyle]) = (zone, word, "loud")
            _ = try reader.installation(record)
        }
        #expect(
            reader.notUnderstood.counts == [
                "timeZone": ["Europe/Belin": 2, "(others)": 2], "authorizationStatus": ["nope": 1, "(others)": 2],
                "alertStyle": ["loud": 5],
            ])
        for number in 0..<30 { reader.notUnderstood.add(.carPlaySetting, "word \(number)") }
        #expect(reader.notUnderstood.counts["carPlaySetting"]?["(others)"] == 10)
    }

    /// A later registration begins at the current microsecond, which must be larger.
    @Test func generation_isRefused_whenItLiesInTheFuture() throws {
        #expect(try read([.installID: "a", .token: "0123456789abcdef", .generation: "1000"]).generation == 1_000)
        #expect(throws: ImportFaults.self) {
            try read([.installID: "a", .token: "0123456789abcdef", .generation: "1001"])
        }
    }

    @Test func faults_areAllListed_withoutQuotingTheInput() throws {
        let values: [ImportField: String] = [
            .installID: "a b", .token: "secret!", .generation: "0", .location: "91 0", .lastSeenAt: "now",
            .carrier: "a\u{0}", .providesAppNotificationSettings: "maybe",
        ]
        do {
            _ = try read(values)
            Issue.record("the line was accepted")
        } catch {
            #expect(
                Set(error.faults.map(\.field)) == [
                    "installId", "token", "generation", "location", "lastSeenAt", "carrier",
                    "providesAppNotificationSettings",
                ])
            #expect(!"\(error)".contains("secret"))
        }
    }
}
