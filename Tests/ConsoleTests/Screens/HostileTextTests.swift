import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// Devices and users choose texts. None of them becomes anything else than text.
    @Suite("Hostile texts")
    struct HostileTextTests {
        private static let evil = "<img src=x onerror=\"window.ran=1\">\u{202E}txt\u{200B}"

        @Test func hostileTexts_runNothing_onAnyScreen() async throws {
            let console = try Console.shared
            let app = try await RegistryApp.make(in: console.registry)
            try await Self.fill(app)
            try await console.withBrowser { browser in
                try await console.signIn(browser, to: app)
                for field in ["carrier", "deviceModel", "systemName", "appStore", "language", "region", "timeZone"] {
                    try await console.show("audience", in: browser)
                    try await browser.edit([field: ["ne": "x"]])
                    try await browser.run("document.querySelector('.sentence [role=combobox]').click()")
                    try await browser.wait(for: "document.querySelector('[role=option] .count')")
                    try await Self.expectText(browser)
                    try await console.show("breakdown", in: browser)
                    try await browser.choose(field, in: "label select")
                    try await browser.wait(for: "document.querySelector('.bars mark.escape')")
                    try await browser.run("document.querySelector('.bars button').click()")
                    try await browser.wait(for: "document.querySelector('.toast.done')")
                    try await Self.expectText(browser)
                }
                for path in ["world", "segments", "topics", "messages"] {
                    try await console.show(path, in: browser)
                    try await Self.expectText(browser)
                }
            }
        }

        private static func fill(_ app: RegistryApp) async throws {
            var device = SampleRegistration.device("phone")
            for member in [
                "appVersion", "deviceModel", "systemName", "systemVersion", "language", "region", "timeZoneId",
            ] { device[member] = .string(evil) }
            for member in ["carrier", "appStore", "locale"] { device[member] = .string(evil) }
            let status = try await app.put("phone", SampleRegistration.make("phone", device: device)).status
            try #require(status == 201)
            _ = try await app.send(
                "PUT", "/segments/evil", ["filter": ["carrier": .string(evil)], "description": .string(evil)],
                by: .role(.marketing))
            _ = try await app.send(
                "PUT", "/topics/evil", ["name": .string(evil), "description": .string(evil), "default": "in"],
                by: .role(.admin))
        }

        /// The text shows as text: no element of it exists, and its control characters are escapes.
        private static func expectText(_ browser: Browser) async throws {
            #expect(try await browser.run("return window.ran ?? null") == .null)
            #expect(try await browser.run("return document.querySelectorAll('main img').length") == 0)
            let raw = try await browser.run(
                """
                const texts = [...document.querySelectorAll('*')].flatMap((each) => [...each.attributes])
                  .map((attribute) => attribute.value);
                return [document.body.textContent, ...texts].filter((text) => text.includes('\u{202E}'));
                """)
            #expect(raw == [])
        }
    }
}
