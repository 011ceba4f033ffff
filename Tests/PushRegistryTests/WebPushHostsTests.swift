import PushRegistry
import Testing

@Suite("An app's installations register endpoints of the push services in its policy only")
struct WebPushHostsTests {
    private func allows(_ endpoint: String, _ entries: [String]) throws -> Bool {
        WebPushHosts(entries: entries).allows(try Token(endpoint, of: .webPush))
    }

    @Test(arguments: [
        "https://fcm.googleapis.com/fcm/send/x", "https://jmt17.google.com/x", "HTTPS://FCM.GoogleApis.com:443/x",
        "https://updates.push.services.mozilla.com/wpush/v2/x", "https://autopush.push.services.mozilla.com/x",
        "https://wns2-par02p.notify.windows.com/w/?token=x", "https://web.push.apple.com/x",
        "https://fcm.googleapis.com?@ntfy.sh",
    ])
    func services_ofBrowsers_areAllowedByDefault(endpoint: String) throws {
        #expect(AppPolicy.standard.webPushHosts.allows(try Token(endpoint, of: .webPush)))
    }

    @Test(arguments: [
        "https://ntfy.sh/x", "https://evil.example/fcm.googleapis.com", "https://fcm.googleapis.com.evil.example/",
        "https://evilfcm.googleapis.com/", "https://push.apple.com/", "https://xpush.apple.com/",
        "https://.push.apple.com/", "https://a..push.apple.com/", "https://web.push.apple.com./",
        "https://fcm.googleapis.com.", "https://fcm.googleapis.com:8443/", "https://fcm.googleapis.com:80/",
        "https://fcm%2egoogleapis.com/", "https://127.0.0.1/", "https://[::1]/", "https://localhost/",
        "https://10.0.0.8/",
    ])
    func otherEndpoints_areRefusedByDefault(endpoint: String) throws {
        #expect(!AppPolicy.standard.webPushHosts.allows(try Token(endpoint, of: .webPush)))
    }

    @Test(arguments: [
        ("https://ntfy.sh/up", "ntfy.sh", true), ("https://sub.ntfy.sh/up", "ntfy.sh", false),
        ("https://a.ntfy.sh/up", "*.ntfy.sh", true), ("https://a.b.ntfy.sh/up", "*.ntfy.sh", true),
        ("https://ntfy.sh/up", "*.ntfy.sh", false), ("https://a.ntfy.sh:8443/up", "*.ntfy.sh", false),
        ("https://ntfy.sh:8443/up", "ntfy.sh:8443", true), ("https://ntfy.sh/up", "ntfy.sh:8443", false),
        ("https://anything.example/", "*", true), ("https://intranet/", "*", true),
        ("https://anything.example:8443/", "*", false), ("https://a.example./", "*", false),
        ("https://localhost/", "*", false), ("https://app.localhost/", "*", false),
        ("https://localhost/", "localhost", true),
        ("https://localhost:8443/", "localhost", false), ("https://localhost:8443/", "localhost:8443", true),
        ("https://10.0.0.8/", "*", false), ("https://10.0.0.8/", "10.0.0.8", true),
        ("https://10.0.0.8/", "*.0.0.8", false),
        ("https://127.1/", "*", false), ("https://2130706433/", "*", false), ("https://0x7f000001/", "*", false),
        ("https://a.0x7f/", "*", false), ("https://[::1]/", "*", false), ("https://[::1]/", "[::1]", true),
        ("https://[::1]:8443/", "[::1]", false), ("https://[::1]:8443/", "[::1]:8443", true),
    ])
    func endpoint_isAllowed_byAnEntryForItsHost(endpoint: String, entry: String, isAllowed: Bool) throws {
        #expect(try allows(endpoint, [entry]) == isAllowed)
        #expect(try !allows(endpoint, []))
    }

    @Test func tokens_ofOtherProviders_areAllowed() throws {
        #expect(WebPushHosts(entries: []).allows(try Token("https://evil.example", of: .fcm)))
    }

    @Test(arguments: [
        ("NTFY.sh", "ntfy.sh"), ("*.Example.org", "*.example.org"), ("*", "*"), ("ntfy.sh:443", "ntfy.sh"),
        ("ntfy.sh:8443", "ntfy.sh:8443"), ("localhost", "localhost"), ("127.0.0.1:8443", "127.0.0.1:8443"),
        ("[::1]", "[::1]"), ("intranet", "intranet"), ("my_host.example", "my_host.example"),
        ("", nil), ("https://ntfy.sh", nil), ("ntfy.sh/", nil), ("ntfy.sh.", nil), ("user@ntfy.sh", nil), ("*.", nil),
        ("*.*", nil), ("a.*", nil), ("*.localhost", nil), ("*.0.0.1", nil), ("*.ntfy.sh:8443", nil), ("*:8443", nil),
        ("**", nil), ("::1", nil), ("[::1", nil), ("ntfy.sh:", nil), ("ntfy.sh:0x1", nil), ("ntfy.sh:70000", nil),
        ("a b", nil), ("ä.example", nil), ("127.1", nil), ("a..b", nil), ("ntfy%2esh", nil), ("[zz]", nil),
    ])
    func entry_hasOneForm(text: String, canonical: String?) {
        #expect(WebPushHosts.canonical(text) == canonical)
        var draft = AppPolicy.Draft()
        draft.webPushHosts = ["ntfy.sh", text]
        #expect(draft.faults.map(\.pointer) == (canonical == text ? [] : ["/webPushHosts/1"]))
    }
}
