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

    private func read(_ values: [ImportField: String]) throws(ImportFaults) -> ImportedInstallation {
        var reader = ImportReader(links: links, now: Timestamp(microseconds: 1_000))
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
            ("Mars/Base", nil, "Mars/Base", 0), ("Europe/Berlin", "7200", "Europe/Berlin", 7_200),
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
