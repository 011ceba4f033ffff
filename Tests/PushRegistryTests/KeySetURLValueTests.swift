import PushRegistry
import Testing

@Suite("The URL of a key set is https, or http to this machine")
struct KeySetURLValueTests {
    @Test(arguments: [
        ("https://login.example.com/.well-known/jwks.json", "https://login.example.com"),
        ("https://login.example.com:8443/keys?realm=a", "https://login.example.com:8443"),
        ("https://[2001:4860::1]/keys", "https://[2001:4860::1]"),
        ("https://login.example.com", "https://login.example.com"),
        ("http://localhost:8080/keys", "http://localhost:8080"), ("http://127.0.0.1/keys", "http://127.0.0.1"),
        ("http://[::1]:1/", "http://[::1]:1"),
    ])
    func url_isAccepted(text: String, origin: String) throws {
        let url = try KeySetURL(text)
        #expect(url.text == text && url.origin == origin)
    }

    @Test(
        arguments: [
            ("https://push.example.com", "https://push.example.com"),
            ("HTTPS://Push.Example.com:443", "https://push.example.com"),
            ("https://push.example.com:8443", "https://push.example.com:8443"),
            ("https://[2001:4860::1]", "https://[2001:4860::1]"),
            ("https://push.example.com/", nil), ("http://push.example.com", nil), ("https://", nil),
            ("https://a b", nil),
        ] as [(String, String?)])
    func origin_isWhatBrowsersSend(text: String, origin: String?) {
        #expect(WebOrigin(text)?.text == origin)
    }

    @Test func schemeAndHost_areLowerCase() throws {
        #expect(try KeySetURL("HTTPS://Login.Example.COM/Keys").text == "https://login.example.com/Keys")
        #expect(try KeySetURL("HTTP://LocalHost/Keys").text == "http://localhost/Keys")
    }

    @Test(arguments: [
        "", "https://", "https:///keys", "login.example.com/keys", "ftp://login.example.com/keys",
        "file:///etc/passwd", "http://login.example.com/keys", "http://localhost.example.com/keys",
        "http://127.0.0.1.example.com/", "http://127.0.0.2/", "https://user@login.example.com/",
        "https://user:secret@login.example.com/", "https://login.example.com/#keys", "https://login.example.com/a b",
        "https://login.example.com\\@evil.example/", "https://lögin.example.com/", "https://login.example.com:port/",
    ])
    func url_isRefused(text: String) {
        let reason = #expect(throws: InvalidValue.self) { try KeySetURL(text) }
        #expect(reason?.code == "invalid-url")
    }

    @Test func url_isRefused_whenItIsTooLong() {
        let url = "https://login.example.com/" + String(repeating: "k", count: KeySetURL.bytesMax)
        #expect(#expect(throws: InvalidValue.self) { try KeySetURL(url) }?.code == "too-long")
    }
}
