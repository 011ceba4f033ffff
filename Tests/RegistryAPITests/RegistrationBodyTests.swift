import Crypto
import PushRegistry
import StrictJSON
import Testing

@testable import RegistryAPI

@Suite("The body of a registration becomes a request with canonical values")
struct RegistrationBodyTests {
    @Test func request_hasEveryValue_whenAllAreSent() throws {
        let request = try RegistrationBody.read(.full)
        #expect(try request.token == Token("a3f1c2d4e5b69788", of: .apns))
        #expect(request.keys == nil)
        let settings = request.snapshot.settings
        #expect(settings.authorizationStatus == .authorized && settings.soundSetting == .enabled)
        #expect(settings.carPlaySetting == .notSupported && settings.criticalAlertSetting == .unknown)
        #expect(settings.alertStyle == .banner && settings.showPreviewsSetting == .whenAuthenticated)
        #expect(settings.providesAppNotificationSettings == true)
        let device = request.snapshot.device
        #expect(device.installID.rawValue == "i-1" && device.keychainID == "k-1" && device.vendorID == "v-1")
        #expect(device.advertisingID == nil)
        #expect(device.appVersion == "7.14.2" && device.deviceModel == "iPhone16,1" && device.systemName == "iOS")
        #expect(device.systemVersion == "18.5.1" && device.locale.text == "de_DE" && device.language == "de")
        #expect(device.languages == ["de-DE", "en-US"] && device.region == "DE")
        #expect(device.timeZoneID == "Asia/Kolkata" && device.timeZoneOffset == 19_800)
        #expect(device.carrier == "Telekom.de" && device.appStore == "DEU")
        #expect(device.location == Location(latitude: 52.52, longitude: 13.41))
    }

    /// Bodies that repeat the last one are not read. If this test fails because bodies have other values than before,
    /// increment `SentRegistration.ReadingRules.version` with it.
    @Test func request_hasTheSameBytes_asInReleasesWithTheSameReadingRules() throws {
        let digests = try [String.full, .least, .webPush].map { body in
            let request = try RegistrationBody.read(body)
            return Array(SHA256.hash(data: request.snapshot.canonicalBytes + request.token.text.utf8).prefix(4))
        }
        #expect(digests == [[217, 56, 194, 158], [163, 167, 217, 171], [180, 142, 68, 96]])
    }

    /// A list without the host of an installation refuses its next registration, although its bytes are the same.
    @Test func digest_dependsOnTheHosts_onlyOfWebPush() throws {
        let escaped = String.webPush.replacing("webPush", with: #"web\u0050ush"#)
        for (body, depends) in [(String.full, false), (.least, false), (.webPush, true), (escaped, true)] {
            let digests = [["a.example"], ["a.example", "b.example"]].map { hosts in
                let rules = SentRegistration.ReadingRules(
                    storesAdvertisingID: false, webPushHosts: WebPushHosts(entries: hosts),
                    links: TimeZoneLinks(zones: "", table: ""))
                return SentRegistration.digest(of: Array(body.utf8), by: nil, reading: rules) {
                    Array(SHA256.hash(data: $0))
                }
            }
            #expect((digests[0] != digests[1]) == depends)
        }
    }

    /// Without reading them: a body in doubt is read.
    @Test(arguments: [
        (#"{"topics":{"news":true}}"#, true), (#"{"topi\u0063s":{}}"#, true), (#"{"a":"p","b":"topics"}"#, true),
        ("topics", true), (#"\"#, true), ("topicss", true), ("ttopics", true), ("pppppp", false), ("topic", false),
        ("opics", false), ("pics", false), ("p", false), ("", false), (#"{"Topics":{}}"#, false),
    ])
    func choicesAboutTopics_areFound(text: String, isFound: Bool) throws {
        let body = RegistrationBody(
            bytes: Array(text.utf8), installID: try InstallID("i-1"), storesAdvertisingID: false,
            links: try TimeZoneLinks())
        #expect(body.mayHaveTopics == isFound)
    }

    @Test func request_hasDefaults_whenOnlyRequiredMembersAreSent() throws {
        let request = try RegistrationBody.read(.least)
        #expect(request.token.provider == .apns)
        #expect(request.snapshot.settings == NotificationSettings())
        #expect(request.snapshot.device.languages == [] && request.snapshot.device.location == nil)
        #expect(request.snapshot.device.locale.text == "")
    }

    @Test(
        "Upper case, another notation, nulls, unknown members, a dropped identifier, a more precise location",
        arguments: [
            ("a3f1c2d4e5b69788", "A3F1C2D4E5B69788"), (#""de_DE""#, #""de-de@calendar=gregorian""#),
            ("Asia/Kolkata", "Asia/Calcutta"), (#""carrier":"#, #""unknown":[{}],"carrier":"#), ("13.41", "13.409"),
            (#""provider":"apns""#, #""provider":null"#), ("19800", "1.98e4"), ("ad-1", "ad-2"),
            (#"["de-DE","#, #"["de-DE",null,"#), (#""provider":"apns","#, ""), ("inventedIn2031", "inventedIn2032"),
        ])
    func request_isTheSame_whenOnlyTheNotationDiffers(text: String, replacement: String) throws {
        let sent = String.full.replacing(text, with: replacement)
        #expect(sent != .full)
        #expect(try RegistrationBody.read(sent) == RegistrationBody.read(.full))
    }

    @Test func advertisingID_isKept_onlyIfThePolicyStoresIt() throws {
        #expect(try RegistrationBody.read(.full, storesAdvertisingID: true).snapshot.device.advertisingID == "ad-1")
        #expect(try RegistrationBody.read(.full).snapshot.device.advertisingID == nil)
    }

    @Test func webPush_hasKeys() throws {
        let request = try RegistrationBody.read(.webPush)
        #expect(request.token.text == "https://push.example/abc")
        #expect(request.keys?.auth == "BTBZMqHH6r4Tts7J_aSIgg")
    }

    @Test func keys_areIgnored_forOtherProviders() throws {
        #expect(
            try RegistrationBody.read(String.least.replacing("{\"token\"", with: "{\"keys\":7,\"token\"")).keys == nil)
    }
}

@Suite("Every fault of a registration's body is listed with its pointer")
struct RegistrationBodyFaultTests {
    @Test(arguments: [
        ("{}", "required /token, required /device"),
        ("[]", "wrong-type "),
        (#"{"token":null,"device":{}}"#, .allRequired),
        (#"{"token":1,"settings":[],"device":"x"}"#, "wrong-type /token, wrong-type /settings, wrong-type /device"),
    ])
    func faults_areListed_whenTheBodyIsInvalid(body: String, expected: String) {
        #expect(RegistrationBody.faults(body) == expected)
    }

    @Test(arguments: [
        ("a3f1c2d4e5b69788", "a3f1", "invalid-token /token"),
        (#""provider":"apns""#, #""provider":"sms""#, "unknown-provider /provider"),
        (#""provider":"apns""#, #""provider":1"#, "wrong-type /provider"),
        (#""provider":"apns""#, #""provider":"webPush""#, "invalid-token /token, required /keys"),
        (#""i-1""#, #""i-2""#, "install-id-mismatch /device/installId"),
        (#""authorized""#, "7", "wrong-type /settings/authorizationStatus"),
        ("true", #""yes""#, "wrong-type /settings/providesAppNotificationSettings"),
        ("19800", "64801", "out-of-range /device/timeZoneOffset"),
        ("19800", "0.5", "not-an-integer /device/timeZoneOffset"),
        ("52.52", "91", "out-of-range /device/location/latitude"),
        ("52.52", "null", "required /device/location/latitude"),
        (#""ad-1""#, "1", "wrong-type /device/advertisingId"),
        ("a3f1c2d4e5b69788", "not hexadecimal at all", "invalid-token /token"),
        ("a3f1c2d4e5b69788", String(repeating: "a", count: 401), "too-long /token"),
        ("iPhone16,1", String(repeating: "x", count: 257), "too-long /device/deviceModel"),
        (#""Telekom.de""#, "3", "wrong-type /device/carrier"),
        ("19800", #""19800""#, "wrong-type /device/timeZoneOffset"),
        (#"["de-DE","en-US"]"#, #""de""#, "wrong-type /device/languages"),
        ("13.41", "null", "required /device/location/longitude"),
        (#""en-US""#, "3", "wrong-type /device/languages/1"),
        (#""de","languages""#, #""d\u0000","languages""#, "nul-character /device/language"),
        (#""carrier":"#, #""region":"x","carrier":"#, "duplicate-member /device/region"),
        ("Telekom.de", String(repeating: "é", count: 257), "too-long /device/carrier"),
        (#"["de-DE""#, "[" + String(repeating: #""x","#, count: 32) + #""y""#, "too-many /device/languages"),
    ])
    func fault_isAtItsMember_whenOneIsInvalid(text: String, replacement: String, expected: String) {
        let sent = String.full.replacing(text, with: replacement)
        #expect(sent != .full)
        #expect(RegistrationBody.faults(sent) == expected)
    }

    @Test(arguments: [
        (#""p256dh":"#, #""p":"#, "required /keys/p256dh"),
        ("BTBZMqHH6r4Tts7J_aSIgg", "x", "invalid-key /keys/auth"),
        ("https://", "http://", "invalid-token /token"),
    ])
    func fault_isAtTheKey_whenAWebPushKeyIsInvalid(text: String, replacement: String, expected: String) {
        #expect(RegistrationBody.faults(String.webPush.replacing(text, with: replacement)) == expected)
    }

    @Test func faults_neverQuoteTheInput() {
        let body = String.full.replacing("a3f1c2d4e5b69788", with: "secret-secret").replacing(
            "\"apns\"", with: "\"s3cret\"")
        let faults = #expect(throws: JSONFaults.self) { try RegistrationBody.read(body) }
        #expect(faults.map { !"\($0)".contains("secret-secret") && !"\($0)".contains("s3cret") } == true)
    }
}

extension RegistrationBody {
    fileprivate static func read(_ body: String, storesAdvertisingID: Bool = false) throws -> RegistrationRequest {
        let links = TimeZoneLinks(zones: "L Asia/Kolkata Asia/Calcutta", table: "")
        return try Self(
            bytes: Array(body.utf8), installID: InstallID("i-1"), storesAdvertisingID: storesAdvertisingID,
            webPushHosts: WebPushHosts(entries: ["push.example"]), links: links
        ).read()
    }

    /// Codes and pointers of all faults.
    fileprivate static func faults(_ body: String) -> String {
        do {
            _ = try read(body)
            return ""
        } catch {
            let faults = (error as? JSONFaults)?.faults ?? []
            return faults.map { "\($0.code.rawValue) \($0.pointer)" }.joined(separator: ", ")
        }
    }
}

extension String {
    fileprivate static let allRequired = [
        "required /token", "required /device/installId", "required /device/deviceModel", "required /device/systemName",
        "required /device/systemVersion", "required /device/locale", "required /device/timeZoneId",
        "required /device/timeZoneOffset",
    ].joined(separator: ", ")

    fileprivate static let full = #"""
        {"token":"a3f1c2d4e5b69788","provider":"apns",
         "settings":{"authorizationStatus":"authorized","soundSetting":"enabled","carPlaySetting":"notSupported",
           "criticalAlertSetting":"inventedIn2031","alertStyle":"banner","showPreviewsSetting":"whenAuthenticated",
           "providesAppNotificationSettings":true},
         "device":{"installId":"i-1","keychainId":"k-1","vendorId":"v-1","advertisingId":"ad-1","appVersion":"7.14.2",
           "deviceModel":"iPhone16,1","systemName":"iOS","systemVersion":"18.5.1","locale":"de_DE",
           "language":"de","languages":["de-DE","en-US"],"region":"DE","timeZoneId":"Asia/Kolkata",
           "timeZoneOffset":19800,"carrier":"Telekom.de","appStore":"DEU",
           "location":{"latitude":52.52,"longitude":13.41}}}
        """#

    fileprivate static let least = #"""
        {"token":"a3f1c2d4e5b69788","device":{"installId":"i-1","deviceModel":"","systemName":"iOS",
          "systemVersion":"18","locale":"","timeZoneId":"UTC","timeZoneOffset":0}}
        """#

    fileprivate static let webPush = least.replacing(
        #""token":"a3f1c2d4e5b69788""#,
        with: #"""
            "token":"https://push.example/abc","provider":"webPush","keys":{"auth":"BTBZMqHH6r4Tts7J_aSIgg","p256dh":
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}
            """#)
}
