import RegistryTestSupport
import Testing

extension ConsoleTests {
    @Suite("Sign-in")
    struct SignInTests {
        @Test func revokedKey_endsItsSession_withTheNextCall() async throws {
            let console = try Console.shared
            let key = try await console.newKey(of: console.filled, roles: ["marketing"])
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await console.signIn(browser, key: key.text)
                try await browser.wait(for: "document.querySelector('.share')?.textContent.includes('of')")
                _ = try await console.registry.send("DELETE", console.filled.path + "/keys/\(key.id)")
                try await browser.edit(["locale": "de"])
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                #expect(try await browser.run("return document.querySelector('nav')") == .null)
            }
        }

        @Test func wrongKey_isRefused_withASentence() async throws {
            let console = try Console.shared
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await browser.open(console.address)
                try await console.submit("prk_0_0", in: browser)
                try await browser.wait(forText: "This key is unknown or has been revoked.")
                try await browser.wait(for: "document.activeElement.matches('signin-screen [type=password]')")
            }
        }

        @Test func signOut_showsTheSignIn_andKeepsNothing() async throws {
            let console = try Console.shared
            try await console.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de"])
                try await browser.run("document.querySelector('header.top button').click()")
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                let stored = try await browser.run("return JSON.stringify([{...localStorage}, {...sessionStorage}])")
                #expect(stored.string?.contains("prk_") == false)
                try await console.signIn(browser)
                try await browser.wait(for: "document.querySelector('audience-screen')")
                #expect(try await browser.run("return document.querySelectorAll('.sentence').length") == 0)
            }
        }

        @Test func audience_isThereAgain_whenTheSessionHasEnded() async throws {
            let console = try Console.shared
            let key = try await console.newKey(of: console.filled, roles: ["marketing"])
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await console.signIn(browser, key: key.text)
                try await console.show("segments", in: browser)
                try await browser.click("germans")
                try await browser.wait(for: "document.querySelectorAll('.sentence').length === 1")
                try await browser.edit(["locale": "de", "region": "AT"])
                _ = try await console.registry.send("DELETE", console.filled.path + "/keys/\(key.id)")
                try await browser.run("location.hash = '#/waves'")
                try await browser.wait(forText: "The session has ended")
                // Any key of the app will do.
                try await console.signInAgain(browser)
                try await browser.wait(for: "document.querySelector('waves-screen .audience-line')")
                try await console.show("audience", in: browser)
                #expect(try await browser.text(".opened").contains("germans"))
                #expect(try await browser.filter() == ["locale": "de", "region": "AT"])
                try await browser.click("Undo")
                #expect(try await browser.filter() == ["locale": "de"])
                try await browser.click("Redo")
                #expect(try await browser.filter() == ["locale": "de", "region": "AT"])
            }
        }

        @Test func audience_isThereAgain_afterReloading_andInAnotherLanguage() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de", "region": "DE"])
                try await Console.shared.show("breakdown", in: browser)
                try await browser.reload()
                try await browser.wait(for: "document.querySelector('.audience-line')?.textContent.includes('Region')")
                try await Console.shared.show("audience", in: browser)
                #expect(try await browser.filter() == ["locale": "de", "region": "DE"])
                // The page is loaded again when this script has returned.
                try await browser.run(
                    """
                    const select = document.querySelector('select.language');
                    select.value = 'de';
                    setTimeout(() => select.dispatchEvent(new Event('change')));
                    """)
                try await browser.wait(
                    for: "document.documentElement.lang === 'de' && document.querySelector('.sentence')")
                #expect(try await browser.filter() == ["locale": "de", "region": "DE"])
                try await browser.click("Rückgängig")
                #expect(try await browser.filter() == [:])
            }
        }

        @Test func eachApp_hasItsOwnAudience() async throws {
            let console = try Console.shared
            try await console.withBrowser { browser in
                try await console.signInAsAdmin(browser)
                for (app, count) in [(console.filled, 0), (console.empty, 0), (console.filled, 1)] {
                    try await browser.choose(app.id, in: "header.top select")
                    try await console.show("audience", in: browser)
                    let sentences = try await browser.run("return document.querySelectorAll('.sentence').length")
                    #expect(sentences == .integer(Int64(count)))
                    if app.id == console.filled.id { try await browser.edit(["locale": "de"]) }
                }
            }
        }

        /// Leaves a form that is not saved, with the sign-in in front of it.
        private static func loseTheSession(_ browser: Browser, _ console: Console, key: String) async throws {
            try await console.signIn(browser, key: key)
            try await browser.show(page: "operations/policy")
            try await browser.fill("Grace period", "11")
            try await browser.devTools("Network.clearBrowserCookies", [:])
            try await browser.click("Review the change")
            try await browser.click("Save")
            try await browser.wait(for: "document.querySelector('dialog signin-screen form')")
        }

        @Test func formThatIsNotSaved_isThereAgain_whenTheSessionHasEnded() async throws {
            let console = try Console.shared
            let key = console.filled.key(.admin)
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await Self.loseTheSession(browser, console, key: key)
                #expect(try await browser.run("return document.querySelector('main').checkVisibility()") == false)
                try await browser.expectNoViolations("a sign-in in front of a form")
                try await console.signInAgain(browser, key: key)
                try await browser.wait(for: "document.querySelector('main').checkVisibility()")
                try await browser.click("Review the change")
                try await browser.wait(for: "document.querySelector('dialog td ins')?.textContent.includes('11')")
            }
        }

        @Test func formThatIsNotSaved_isThereAgain_whenAnotherTabHasSignedIn() async throws {
            let console = try Console.shared
            let key = console.filled.key(.admin)
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await Self.loseTheSession(browser, console, key: key)
                // The page hears of nothing but that it is looked at again.
                try await browser.run(
                    """
                    dispatchEvent(new Event('focus'));
                    const headers = {'Content-Type': 'application/json'};
                    await fetch('v1/session', {method: 'POST', headers, body: JSON.stringify({key: arguments[0]})});
                    """, .string(key))
                #expect(try await browser.run("return document.querySelector('main').checkVisibility()") == false)
                try await browser.run("dispatchEvent(new Event('focus'))")
                try await browser.wait(for: "document.querySelector('main').checkVisibility()")
                try await browser.click("Review the change")
                try await browser.wait(for: "document.querySelector('dialog td ins')?.textContent.includes('11')")
            }
        }

        @Test func endOfTheSession_isAnnounced_andShown() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                // The service says twice that the session ends now, and then that it has ended.
                let source = """
                    const real = window.fetch;
                    let asked = 0;
                    window.fetch = async (url, options) => {
                      const response = await real(url, options);
                      if (!String(url).endsWith('/console/v1/session') || options.method !== 'GET') return response;
                      const now = response.headers.get('Date');
                      const session = {...await response.json(), idleUntil: new Date(now).toISOString()};
                      asked += 1;
                      return new Response(JSON.stringify(asked > 2 ? {roles: []} : session), {headers: {Date: now}});
                    };
                    """
                try await browser.devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(source)])
                try await browser.reload()
                try await browser.wait(for: "document.querySelector('.toast')?.textContent.includes('session ends at')")
                try await browser.wait(forText: "The session has ended")
            }
        }
    }
}
