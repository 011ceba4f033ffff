import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    @Suite("Sign-in by an identity provider")
    struct ProviderSignInScreenTests {
        @Test func notice_isASentence_andLeavesTheAddress() async throws {
            let console = try Console.shared
            let notices = [
                ("en-US", "denied", "did not sign you in"), ("en-US", "no-role", "None of your groups"),
                ("en-US", "nonsense", "The sign-in failed"), ("de-DE", "unavailable", "antwortet nicht"),
            ]
            for (language, notice, words) in notices {
                try await console.withBrowser(Browser.Look(language: language)) { browser in
                    try await browser.open(console.address + "#sign-in=\(notice)")
                    try await browser.wait(for: "document.querySelector('signin-screen [role=alert]')")
                    try await browser.wait(forText: words)
                    #expect(try await browser.run("return location.href").string == console.address)
                    // Without an identity provider nothing offers one.
                    #expect(try await browser.run("return document.querySelector('signin-screen a')") == .null)
                    try await console.signInAgain(browser)
                }
            }
        }

        @Test(.enabled(if: Canaille.isInstalled, "Canaille is not installed: make .build/canaille"))
        func person_signsInAtCanaille_andWorksInTheConsole() async throws {
            let chromium = try Console.shared.chromium
            try await Canaille.with { canaille in
                try await withRegistry(environment: canaille.environment) { registry in
                    let app = try await RegistryApp.make(in: registry)
                    let console = Console(chromium: chromium, registry: registry, filled: app, empty: app)
                    try await canaille.start(for: "http://127.0.0.1:\(registry.client.port)")
                    // The provider's own pages may have faults.
                    try await console.withBrowser(expecting: [canaille.issuer, "401"]) { browser in
                        try await Self.travel(browser, console, canaille, app)
                    }
                }
            }
        }

        private static func travel(
            _ browser: Browser, _ console: Console, _ canaille: Canaille, _ app: RegistryApp
        ) async throws {
            let button = "Sign in with \(canaille.host)"
            try await browser.open(console.address + "#/waves")
            try await browser.wait(forText: button)
            try await browser.expectNoViolations("a sign-in with an identity provider")
            // No group has a role yet.
            try await browser.click(button)
            try await signIn(browser, as: Canaille.person)
            try await browser.wait(forText: "None of your groups has a role here. They were read from the claim groups")
            // The provider remembers the person, and the page its fragment.
            try await patch(app, ["marketers": "marketing"])
            try await signIn(browser, button, until: "document.querySelector('waves-screen h1')")
            #expect(try await browser.text("header.top .who").contains(Canaille.person.displayName))
            #expect(try await browser.text("header.top .app") == app.id)
            #expect(try await browser.run("return location.href").string == console.address + "#/waves")
            try await browser.reload()
            try await browser.wait(for: "document.querySelector('waves-screen h1')")
            // A policy that changes ends the session with the next call.
            try await patch(app, ["marketers": .null])
            try await browser.run("location.hash = '#/segments'")
            try await browser.wait(forText: "The session has ended")
            // A person of two apps chooses, and has the roles of each.
            try await patch(app, ["marketers": "support"])
            let other = try await RegistryApp.make(
                in: console.registry, policy: ["consoleGroups": ["marketers": "marketing"]])
            try await signIn(
                browser, button,
                until: "document.querySelectorAll('header.top select[aria-label=App] option').length === 2")
            for (app, screen) in [(app, "lookup"), (other, "audience"), (app, "lookup")] {
                try await browser.choose(app.id, in: "header.top select")
                try await console.show(screen, in: browser)
            }
            try await browser.click("Sign out")
            try await browser.wait(forText: button)
            // A key is as good.
            try await console.signInAgain(browser)
        }

        /// Signs in again, in another second than before: Canaille's access tokens hold their second, the person and
        /// the client, and it answers 500 where it would issue one twice.
        private static func signIn(_ browser: Browser, _ button: String, until condition: String) async throws {
            let second = Int(Date().timeIntervalSince1970)
            try await eventually("another second") { Int(Date().timeIntervalSince1970) > second }
            try await browser.click(button)
            try await browser.wait(for: condition)
        }

        private static func patch(_ app: RegistryApp, _ groups: JSON) async throws {
            let response = try await app.send("PATCH", "", ["consoleGroups": groups], by: .role(.admin))
            #expect(response.status == 200, "\(response.text)")
        }

        /// Fills the forms of Canaille.
        private static func signIn(
            _ browser: Browser, as person: (name: String, password: String, displayName: String)
        ) async throws {
            for (field, text) in [("login", person.name), ("password", person.password)] {
                try await browser.wait(for: "document.querySelector('#\(field)form #\(field)')")
                try await browser.run(
                    """
                    const form = document.querySelector(`#${arguments[0]}form`);
                    form.querySelector(`#${arguments[0]}`).value = arguments[1];
                    form.querySelector('button[type=submit]').click();
                    """, .string(field), .string(text))
            }
        }
    }
}
