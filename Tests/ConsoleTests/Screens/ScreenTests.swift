import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// Every screen of core/screens.js, in every look, with and without installations.
    @Suite("Screens")
    struct ScreenTests {
        @Test(
            .enabled(if: Axe.isInstalled, "axe-core is not installed: make packages"),
            arguments: [false, true], [false, true])
        func axe_findsNothing(isDark: Bool, isFilled: Bool) async throws {
            let console = try Console.shared
            try await console.withBrowser(Browser.Look(isDark: isDark)) { browser in
                try await browser.open(console.address)
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                try await Self.expectNothing(browser, "sign-in")
                try await console.signIn(browser, to: isFilled ? console.filled : console.empty)
                for path in try await Self.paths(browser) {
                    try await console.show(path, in: browser)
                    if path == "audience", isFilled { try await Self.openBuilder(browser) }
                    try await browser.run("document.querySelectorAll('details').forEach((each) => (each.open = true))")
                    try await Self.expectNothing(browser, path)
                }
            }
        }

        @Test(
            .enabled(if: Axe.isInstalled, "axe-core is not installed: make packages"), arguments: [false, true])
        func axe_findsNothing_forAnAdmin(isDark: Bool) async throws {
            let console = try Console.shared
            try await console.withBrowser(Browser.Look(isDark: isDark)) { browser in
                try await console.signInAsAdmin(browser)
                for path in try await Self.paths(browser) {
                    try await console.show(path, in: browser)
                    try await Self.expectNothing(browser, path)
                }
            }
        }

        @Test(arguments: ["en-US", "de-DE"])
        func noScreen_scrollsSideways_on320Pixels(language: String) async throws {
            let console = try Console.shared
            try await console.withBrowser(Browser.Look(language: language, width: 320)) { browser in
                try await console.signIn(browser)
                #expect(
                    try await browser.run("return document.documentElement.lang").string == String(language.prefix(2)))
                for path in try await Self.paths(browser) {
                    try await console.show(path, in: browser)
                    if path == "audience" { try await Self.openBuilder(browser) }
                    let excess = try await browser.run("return document.documentElement.scrollWidth - innerWidth")
                    #expect(excess == 0, "\(path)")
                }
            }
        }

        @Test func nothing_isMissing_onSmallScreens() async throws {
            let console = try Console.shared
            try await console.withBrowser { browser in
                try await console.signIn(browser)
                for path in try await Self.paths(browser) {
                    try await browser.resize(width: 1_280)
                    try await console.show(path, in: browser)
                    if path == "audience" { try await Self.openBuilder(browser) }
                    let wide = try await browser.run(Self.controls).array
                    #expect(!wide.isEmpty)
                    for width in [640, 390, 320] {
                        try await browser.resize(width: width)
                        let narrow = try await browser.run(Self.controls).array
                        #expect(wide.filter { !narrow.contains($0) } == [], "\(path) on \(width) pixels")
                    }
                }
            }
        }

        /// A phone magnifies the page when a control with a smaller text gets the focus.
        @Test func controls_areLargeEnough_onSmallScreens() async throws {
            let console = try Console.shared
            try await console.withBrowser(Browser.Look(width: 390)) { browser in
                try await console.signIn(browser)
                for path in try await Self.paths(browser) {
                    try await console.show(path, in: browser)
                    if path == "audience" { try await Self.openBuilder(browser) }
                    let small = try await browser.run(
                        """
                        return [...document.querySelectorAll('input, select, textarea')]
                          .filter((control) => control.checkVisibility())
                          .filter((control) => parseFloat(getComputedStyle(control).fontSize) < 16)
                          .map((control) => control.outerHTML);
                        """)
                    #expect(small == [], "\(path)")
                }
            }
        }

        /// What a person can press, choose or fill in. Those of one name are numbered.
        private static let controls = """
            const counts = {};
            return [...document.querySelectorAll('a, button, select, input, textarea, summary')]
              .filter((control) => control.checkVisibility())
              .map((control) => `${control.localName} ${control.ariaLabel ?? control.textContent}`)
              .map((name) => `${name} ${(counts[name] = (counts[name] ?? 0) + 1)}`);
            """

        @Test func key_seesWhatItMayDo_andWhyTheRestIsAbsent() async throws {
            let console = try Console.shared
            try await console.withBrowser { browser in
                try await console.signIn(browser, key: console.filled.key(.marketing))
                let allowed = try await Self.paths(browser)
                #expect(allowed.contains("audience") && !allowed.contains("lookup") && !allowed.contains("operations"))
                #expect(try await browser.text("nav .absent").contains("needs a key with the role"))
                try await browser.run("location.hash = '#/operations'")
                try await browser.wait(for: "document.querySelector('.panel.forbidden')")
            }
        }

        private static func expectNothing(_ browser: Browser, _ path: String) async throws {
            // While it counts, the number is pale.
            try await browser.wait(for: "!document.querySelector('.stale')")
            let violations = try await Axe.violations(in: browser)
            #expect(violations.isEmpty, "\(path): \(violations.joined(separator: "\n"))")
        }

        /// The paths in the navigation. Trend is the first: no record has the filter of `openBuilder`.
        private static func paths(_ browser: Browser) async throws -> [String] {
            try await browser.run("return [...document.querySelectorAll('nav a')].map((a) => a.hash.slice(2))")
                .array.compactMap(\.string).sorted { $0 == "trend" && $1 != "trend" }
        }

        /// Shows every kind of sentence.
        private static func openBuilder(_ browser: Browser) async throws {
            try await browser.edit([
                "systemName": "iOS", "osVersion": ["gte": "17.2"], "topic": "offers", "segment": "germans",
                "any": [
                    ["region": ["DE", "AT"]], ["timeZone": "Europe/Berlin"],
                    ["not": ["lastSeenAt": ["within": "P30D"]]],
                    ["location": ["near": ["latitude": 52, "longitude": 13, "radiusKm": 50]]],
                    ["localTime": ["between": ["09:00", "21:00"]]],
                ],
            ])
            try await browser.wait(for: "!document.querySelector('.figures.stale')")
        }
    }
}

extension Browser {
    /// Replaces the filter on Audience by way of its JSON tab.
    func edit(_ filter: JSON) async throws {
        try await run(
            """
            document.querySelector('#tab-json').click();
            const area = document.querySelector('.json textarea');
            area.value = arguments[0];
            area.dispatchEvent(new Event('input'));
            document.querySelector('#tab-sentences').click();
            """, .string(filter.text))
    }
}
