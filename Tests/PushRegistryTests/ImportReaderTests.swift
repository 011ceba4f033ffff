import PushRegistry
import Testing

@Suite("Missing values of a line become neutral ones, and present values canonical")
struct ImportReaderTests {
    private let links = TimeZoneLinks(
        zones:
            """
            Z Europe/Berlin 1 - CET
            Z Etc/UTC 0 - UTC
            Z Factory 0 - -00
            L Europe/Berlin posixrules
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

    /// The word of a table of somebody's own.
    @Test(
        arguments: [
            ("FCM", .fcm), ("android", .fcm), ("gcm", .fcm), ("iOS", .apns), ("apns_sandbox", .apnsSandbox),
            ("HMS", .huawei), (nil, .huawei),
        ] as [(String?, Provider)])
    func provider_isReadByATable_andAbsentItIsTheDefault(word: String?, expected: Provider) throws {
        var reader = ImportReader(links: links, providerDefault: .huawei)
        var record = ImportRecord()
        (record[.installID], record[.token], record[.provider]) = ("a", "0123456789abcdef", word)
        #expect(try reader.installation(record).token.provider == expected)
        record[.provider] = "carrierPigeon"
        #expect(throws: ImportFaults.self) { try reader.installation(record) }
    }

    @Test func installation_wasSeenWhenItWasCreated_ifNothingElseIsKnown() throws {
        let created = "2026-01-02T03:04:05Z"
        for seen in [nil, "", "soon", "0000-00-00"] as [String?] {
            let values: [ImportField: String] = [.installID: "a", .token: "0123456789abcdef", .createdAt: created]
            let installation = try read(values.merging(seen.map { [.lastSeenAt: $0] } ?? [:]) { $1 })
            #expect(installation.lastSeenAt?.description == created)
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
    @Test func generation_isAbsent_whenItLiesInTheFuture() throws {
        #expect(try read([.installID: "a", .token: "0123456789abcdef", .generation: "1000"]).generation == 1_000)
        #expect(try read([.installID: "a", .token: "0123456789abcdef", .generation: "1001"]).generation == nil)
    }

    @Test(
        arguments: [
            (.generation, "0"), (.location, "91 0"), (.location, "nan nan"), (.lastSeenAt, "now"),
            (.lastSeenAt, "0000-00-00 00:00:00"), (.createdAt, "1970-01-01T00:00:00Z"),
            (.createdAt, "-9223372036854775808"), (.lastSeenAt, "9223372036854775807"), (.carrier, "a\u{0}"),
            (.deviceModel, String(repeating: "m", count: 257)), (.providesAppNotificationSettings, "maybe"),
            (.utcOffset, "99999999"), (.utcOffset, "1e400"), (.languages, "de"), (.languages, "[7]"),
            (.location, "52.5"), (.timeZone, "localtime"), (.timeZone, "posixrules"), (.timeZone, "Factory"),
        ] as [(ImportField, String)])
    func optionalValue_isCountedAndAbsent_whenItCannotBeRead(field: ImportField, text: String) throws {
        var reader = ImportReader(links: links, now: Timestamp(microseconds: 1_000))
        var record = ImportRecord()
        (record[.installID], record[.provider], record[.token]) = ("a", "fcm", "t")
        let without = try reader.installation(record)
        record[field] = text
        #expect(try reader.installation(record) == without)
        #expect(reader.notUnderstood.counts[field.name]?.values.reduce(0, +) == 1)
    }

    @Test(
        arguments: ["NULL", "\\N", "(null)", "null", "undefined", "<null>", "None", " ", "", "0000-00", "{00000000}"])
    func identifier_isAbsent_whenItIdentifiesNobody(text: String) throws {
        var values: [ImportField: String] = [.installID: "a", .provider: "fcm", .token: "t"]
        for field in [ImportField.userID, .sessionID, .keychainID, .vendorID] { values[field] = text }
        let installation = try read(values)
        #expect(installation.userID == nil && installation.session == nil)
        #expect(installation.snapshot.device.keychainID == nil && installation.snapshot.device.vendorID == nil)
        for field in [ImportField.installID, .token] {
            var values = values
            values[field] = text
            #expect(throws: ImportFaults([ImportFault(field.name, code: "required", "This field is required.")])) {
                try read(values)
            }
        }
    }

    @Test func nullOfADatabase_isNoValue_ofAnyField() throws {
        let fields: [ImportField] = [
            .carrier, .deviceModel, .locale, .timeZone, .utcOffset, .lastSeenAt, .alertStyle, .sessionExpiresAt,
        ]
        for null in ["NULL", "\\N"] {
            var reader = ImportReader(links: links)
            var record = ImportRecord()
            (record[.installID], record[.provider], record[.token]) = ("a", "fcm", "t")
            let without = try reader.installation(record)
            for field in fields { record[field] = null }
            #expect(try reader.installation(record) == without && reader.notUnderstood == NotUnderstood())
        }
    }

    @Test(arguments: [
        ("2026-11-21T02:03:04Z", "2026-11-21T02:03:04Z"), ("2026-11-21T02:03:04+01:00", "2026-11-21T01:03:04Z"),
        ("2026-11-21 02:03:04", "2026-11-21T02:03:04Z"), ("2026-11-21T02:03:04", "2026-11-21T02:03:04Z"),
        ("2020-07-10 15:00:00.000 UTC", "2020-07-10T15:00:00Z"), ("2026-11-21", "2026-11-21T00:00:00Z"),
        ("1795000000", "2026-11-18T11:06:40Z"), ("1795000000000", "2026-11-18T11:06:40Z"),
        ("1795000000000000", "2026-11-18T11:06:40Z"),
        ("1795000000.5", "2026-11-18T11:06:40.500Z"), ("2019-08-23T10:54:35.220Z", "2019-08-23T10:54:35.220Z"),
        ("2026-11-21T02:03:04.5+0130", "2026-11-21T00:33:04.500Z"), ("2026-11-21T02:03:04-05", "2026-11-21T07:03:04Z"),
        ("2026-11-21 02:03:04.678+00", "2026-11-21T02:03:04.678Z"),
        ("2026-11-21 02:03:04 +0000", "2026-11-21T02:03:04Z"),
        ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z"),
        // A spreadsheet's days, and digits without separators.
        ("46346.5", "2026-11-20T12:00:00Z"), ("46346", "2026-11-20T00:00:00Z"), ("20261120", "2026-11-20T00:00:00Z"),
        ("20261120081500", "2026-11-20T08:15:00Z"),
        ("-9223372036854775808", nil), ("9223372036854775807", nil), ("-1e400", nil), ("1e18", nil), ("nan", nil),
        ("0x1p31", nil), ("20261340", nil), ("0", nil), ("1", nil), ("-1", nil), ("4102444800000", nil), (".", nil),
        ("0000-00-00", nil), ("0001-01-01T00:00:00Z", nil), ("1970-01-01", nil), ("yesterday", nil), ("", nil),
        (String(repeating: "9", count: 400), nil),
    ])
    func times_areReadInAllForms(text: String, expected: String?) {
        #expect(ImportedTime.parse(text)?.description == expected, "\(text)")
    }

    @Test func faults_areAllListed_withoutQuotingTheInput() throws {
        let values: [ImportField: String] = [
            .installID: "a b", .token: "secret!", .userID: "a b", .sessionID: "s", .sessionExpiresAt: "soon",
        ]
        do {
            _ = try read(values)
            Issue.record("the line was accepted")
        } catch {
            #expect(
                Set(error.faults.map(\.field)) == [
                    "installId", "token", "userId", "sessionExpiresAt",
                ])
            #expect(!"\(error)".contains("secret"))
        }
    }
}
