import PushRegistry
import Testing

@Suite("Identifiers are valid by construction")
struct IdentifierTests {
    @Test(arguments: ["a", "com.example.mail", "A_b-9.", String(repeating: "x", count: 128)])
    func appID_isAccepted_whenTextIsValid(text: String) throws {
        #expect(try AppID(text).rawValue == text)
    }

    @Test(arguments: ["", "a b", "a/b", "ä", "a\n", String(repeating: "x", count: 129)])
    func appID_isRefused_whenTextIsInvalid(text: String) {
        let reason = #expect(throws: InvalidValue.self) { try AppID(text) }
        #expect(reason?.code == "invalid-app-id")
    }

    @Test(arguments: [
        "a", "!~", "6F9619FF-8B86-D011-B42D-00C04FC964FF", "a/b?c=%41", String(repeating: "x", count: 128),
    ])
    func identifiers_areAccepted_whenTextIsVisibleASCII(text: String) throws {
        #expect(try InstallID(text).rawValue == text)
        #expect(try UserID(text).rawValue == text)
        #expect(try SessionID(text).rawValue == text)
    }

    @Test(arguments: ["", " ", "a b", "a\u{7F}", "\t", "é", "e\u{301}", ".", "..", String(repeating: "x", count: 129)])
    func identifiers_areRefused_whenTextIsInvalid(text: String) {
        #expect(throws: InvalidValue.self) { try InstallID(text) }
        #expect(throws: InvalidValue.self) { try UserID(text) }
        #expect(throws: InvalidValue.self) { try SessionID(text) }
    }

    /// Clients and proxies remove them from a path.
    @Test(arguments: [".", ".."])
    func names_areRefused_whenTheyAreDots(text: String) {
        #expect(throws: InvalidValue.self) { try SegmentName(text) }
        #expect(throws: InvalidValue.self) { try MessageName(text) }
        #expect(throws: InvalidValue.self) { try AppID(text) }
        #expect(throws: Never.self) { try SegmentName(text + ".a") }
    }

    @Test func identifiers_areDifferent_whenOnlyCaseDiffers() throws {
        #expect(try UserID("anna") != UserID("Anna"))
        #expect(try AppID("a") != AppID("A"))
    }
}

@Suite("A token is in its provider's canonical form, or refused")
struct TokenTests {
    @Test(arguments: [
        (Provider.apns, "0123456789abcdef", "0123456789abcdef"),
        (.apns, "0123456789ABCDEF0", "0123456789abcdef0"),
        (.apnsSandbox, String(repeating: "A", count: 400), String(repeating: "a", count: 400)),
        (.fcm, "cX:APA91b_-", "cX:APA91b_-"),
        (.fcm, String(repeating: "~", count: 4096), String(repeating: "~", count: 4096)),
        (.huawei, "!", "!"),
        (.webPush, "https://fcm.googleapis.com/fcm/send/aB:c", "https://fcm.googleapis.com/fcm/send/aB:c"),
        (.webPush, "HTTPS://Push.Example:8443/Ab?q=%20", "https://push.example:8443/Ab?q=%20"),
        (.webPush, "https://[::1]/x", "https://[::1]/x"),
        (.webPush, "https://a", "https://a"),
    ])
    func token_isCanonical_whenTextIsValid(provider: Provider, sent: String, kept: String) throws {
        let token = try Token(sent, of: provider)
        #expect(token.text == kept)
        #expect(token.provider == provider)
    }

    @Test(arguments: [
        (Provider.apns, ""), (.apns, "0123456789abcde"), (.apns, "0123456789abcdeg"), (.apns, "0123456789abcde "),
        (.apns, "٠١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦"), (.fcm, ""), (.fcm, "a b"), (.huawei, "é"), (.fcm, "a\u{7F}"),
        (.webPush, "http://a/b"), (.webPush, "https://"), (.webPush, "https:///b"), (.webPush, "https://:443/b"),
        (.webPush, "https://a:+443/b"), (.webPush, "https://a:b/c"), (.webPush, "https://a:99999/"),
        (.webPush, "https://a b/c"), (.webPush, "https://ä/c"), (.webPush, "https://[::1/x"),
        (.webPush, "push.example/x"),
        (.webPush, "https://a\\b/c"),
    ])
    func token_isRefused_whenTextIsInvalid(provider: Provider, text: String) {
        let reason = #expect(throws: InvalidValue.self) { try Token(text, of: provider) }
        #expect(reason?.code == "invalid-token")
    }

    @Test(arguments: [
        "https://user@a/b", "HTTPS://a:b@fcm.googleapis.com/x", "https://fcm.googleapis.com@evil.example",
    ])
    func endpoint_isRefused_whenItHasUserInformation(text: String) {
        let reason = #expect(throws: InvalidValue.self) { try Token(text, of: .webPush) }
        #expect(reason?.code == "push-service-not-allowed")
    }

    @Test(arguments: [
        (Provider.apns, String(repeating: "a", count: 401)), (.fcm, String(repeating: "a", count: 4097)),
        (.webPush, "https://a/" + String(repeating: "a", count: 2039)),
    ])
    func token_isTooLong_beyondItsProvidersLimit(provider: Provider, text: String) {
        let reason = #expect(throws: InvalidValue.self) { try Token(text, of: provider) }
        #expect(reason?.code == "too-long")
    }

    @Test func tokens_differ_whenProvidersDiffer() throws {
        #expect(try Token("0123456789abcdef", of: .apns) != Token("0123456789abcdef", of: .apnsSandbox))
    }
}

@Suite("Web Push keys are valid by construction")
struct WebPushKeysTests {
    @Test func keys_areKeptWithoutPadding() throws {
        let padded = try WebPushKeys(p256dh: WebPushKeys.examplePoint + "=", auth: WebPushKeys.exampleSecret + "==")
        #expect(padded.p256dh == WebPushKeys.examplePoint)
        #expect(padded.auth == WebPushKeys.exampleSecret)
        #expect(try padded == WebPushKeys(p256dh: WebPushKeys.examplePoint, auth: WebPushKeys.exampleSecret))
    }

    @Test(
        "Empty, another length, a compressed point, wrong alphabet, wrong padding, unused bits that are set",
        arguments: [
            "", "BA", "A" + WebPushKeys.examplePoint.dropFirst(), "+" + WebPushKeys.examplePoint.dropFirst(),
            WebPushKeys.examplePoint + "==", WebPushKeys.examplePoint + "===",
            WebPushKeys.examplePoint.dropLast() + "5",
        ])
    func keys_areRefused_whenThePointIsInvalid(point: String) {
        let reasons = #expect(throws: WebPushKeys.InvalidKeys.self) {
            try WebPushKeys(p256dh: point, auth: WebPushKeys.exampleSecret)
        }
        #expect(reasons?.p256dh?.code == "invalid-key")
        #expect(reasons?.auth == nil)
    }

    @Test(arguments: ["", "=", "====", "BTBZMqHH6r4Tts7J_aSIg", "BTBZMqHH6r4Tts7J_aSIgh", "BTBZMqHH6r4Tts7J aSIgg"])
    func keys_areRefused_whenTheSecretIsInvalid(secret: String) {
        let reasons = #expect(throws: WebPushKeys.InvalidKeys.self) { try WebPushKeys(p256dh: "x", auth: secret) }
        #expect(reasons?.p256dh?.code == "invalid-key")
        #expect(reasons?.auth?.code == "invalid-key")
    }
}

@Suite("Tokens and keys have no printable form")
struct SecrecyTests {
    struct Holder {
        let token: Token
        let keys: WebPushKeys?
    }

    @Test func secrets_areNeverPrinted() throws {
        let token = try Token("0123456789abcdef", of: .apns)
        let keys = try WebPushKeys(p256dh: WebPushKeys.examplePoint, auth: WebPushKeys.exampleSecret)
        var dumped = ""
        dump(Holder(token: token, keys: keys), to: &dumped)
        dump([token: keys], to: &dumped)
        let holder = Holder(token: token, keys: keys)
        let texts = [
            "\(token)", "\(keys)", String(reflecting: token), String(describing: keys), "\(holder)", "\([token])",
            String(reflecting: [keys]), String(reflecting: holder), "\(Optional(token) as Any)", dumped,
        ]
        for text in texts {
            #expect(text.contains("‹token›"))
            #expect(!text.contains("0123456789abcdef") && !text.contains("BCVx") && !text.contains("BTBZ"))
        }
        #expect(Mirror(reflecting: token).children.isEmpty)
    }
}

extension WebPushKeys {
    /// The example of RFC 8291, section 5.
    static let examplePoint = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let exampleSecret = "BTBZMqHH6r4Tts7J_aSIgg"
}

@Suite("The nearest name is suggested for a misspelt one")
struct NearestNameTests {
    private let names = ["touchInterval", "retention", "grace", "jwks", "apns", "eq", "in"]

    @Test(arguments: [
        ("touchIntervall", "touchInterval"), ("touchinterval", "touchInterval"), ("toucInterval", "touchInterval"),
        ("graec", "grace"), ("jwk", "jwks"), ("apn", "apns"), ("ni", "in"), ("retentoin", "retention"),
    ])
    func nearest_isFound(text: String, name: String) {
        #expect(NearestName.of(text, among: names) == name)
    }

    @Test func city_isFound_amongTimeZones() {
        let zones = ["America/New_York", "Europe/Berlin", "Europe/Vienna"]
        #expect(NearestName.of("berlin", among: zones) == "Europe/Berlin")
        #expect(NearestName.of("Rome", among: zones) == nil)
    }

    @Test(arguments: ["", "completely-different", "tokens", String(repeating: "x", count: 65)])
    func nothing_isFound_whenNoNameIsNear(text: String) {
        #expect(NearestName.of(text, among: names) == nil)
        #expect(NearestName.hint(for: text, among: names).hasPrefix("The names are: touchInterval, retention"))
    }
}
