import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// Support finds a phone, a person or a token, and reads what happened.
    @Suite("Look-up")
    struct LookUpTests {
        @Test func installation_saysWhyItIsNotReachable() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            let denied = SampleRegistration.settings(authorizationStatus: "denied")
            _ = try await app.put("a-phone", as: "alice", session: "s-1")
            _ = try await app.put("a-phone", SampleRegistration.make("a-phone", settings: denied), as: "alice")
            try await Console.shared.visit(page: "lookup", of: app, as: .support) { browser in
                try await Self.look(up: "a-phone", in: browser)
                try await browser.wait(for: "document.querySelectorAll('.checklist li').length === 3")
                let conditions = try await browser.run(
                    "return [...document.querySelectorAll('.checklist li')].map((each) => each.className)")
                #expect(conditions == ["good", "good", "bad"])
                #expect(try await browser.text(".checklist .bad").contains("The user does not allow notifications."))
                try await browser.wait(forText: "Permission to notify: allowed → denied")
                try await browser.wait(forText: "First registration. User: alice.")
                try await browser.expectNoViolations("an installation")
                #expect(try await !Self.page(of: browser).contains(SampleRegistration.token("a-phone")))
            }
        }

        @Test func installation_thatWasDeleted_isKnownByItsHistory() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.put("gone", as: "alice")
            _ = try await app.delete("gone")
            try await Console.shared.visit(page: "lookup", of: app, as: .support, expecting: ["404"]) { browser in
                try await Self.look(up: "gone", in: browser)
                try await browser.wait(forText: "This installation was deleted. Its history is left.")
                try await browser.wait(forText: "A call deleted it.")
            }
        }

        @Test func token_showsItsOwners_andNeverItself() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            let token = SampleRegistration.token("shared")
            _ = try await app.put("first", SampleRegistration.make("first", token: token), as: "alice")
            _ = try await app.put("second", SampleRegistration.make("second", token: token), as: "bob")
            _ = try await app.put("second", as: "bob")
            try await Console.shared.visit(page: "lookup", of: app, as: .support) { browser in
                try await Self.look(up: token.uppercased(), in: browser)
                try await browser.wait(forText: "No installation has this token now.")
                #expect(try await browser.texts("tbody th") == ["bob", "alice"])
                let page = try await Self.page(of: browser)
                #expect(page.contains("It took the token over from another installation."))
                #expect(page.contains("The app registered another token; the old one was dropped."))
                #expect(page.contains(try #require(try await app.events(of: "first").first?.tokenSHA256)))
                #expect(!page.lowercased().contains(token))
                #expect(try await browser.run("return document.querySelector('[type=search]').value") == "")
                let addresses = try await browser.run(
                    "return performance.getEntriesByType('resource').map((each) => each.name).join(' ')")
                #expect(addresses.string?.lowercased().contains(token) == false)
                try await browser.expectNoViolations("a token")
            }
        }

        @Test func user_leadsToTheInstallations() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for phone in ["one", "two"] { _ = try await app.put(phone, as: "alice") }
            try await Console.shared.visit(page: "lookup", of: app, as: .support, expecting: ["404"]) { browser in
                try await Self.look(up: "alice", in: browser)
                try await browser.wait(forText: "Installations of the user: 2")
                try await browser.expectNoViolations("a user")
                try await browser.click("two")
                try await browser.wait(for: "document.querySelector('.found h2 code')?.textContent === 'two'")
                try await browser.click("← Back")
                try await browser.wait(forText: "Installations of the user: 2")
            }
        }

        @Test func notFound_saysWhatWasLookedFor() async throws {
            let token = String(repeating: "ab", count: 32)
            try await Console.shared.visit(
                page: "lookup", of: Console.shared.filled, as: .support, expecting: ["404"]
            ) { browser in
                try await Self.look(up: "no-such-thing", in: browser)
                try await browser.wait(forText: "has no Installation or User no-such-thing.")
                try await browser.expectNoViolations("nothing found")
                try await Self.look(up: token, in: browser)
                try await browser.wait(forText: "has no Token SHA-256 ")
                #expect(try await !Self.page(of: browser).contains(token))
                try await Self.look(up: "two words", in: browser)
                try await browser.wait(forText: "This cannot be an id or a token")
            }
        }

        @Test func newerLookUp_isNotReplacedByALateResponse() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for phone in ["early", "late"] { _ = try await app.put(phone) }
            try await Console.shared.visit(page: "lookup", of: app, as: .support, expecting: ["404"]) { browser in
                try await browser.holdResponses(to: "early")
                try await Self.look(up: "early", in: browser)
                try await browser.waitForHeldResponse()
                try await Self.look(up: "late", in: browser)
                try await browser.wait(for: "document.querySelector('.found h2 code')?.textContent === 'late'")
                try await browser.releaseResponses()
                #expect(try await browser.text(".found h2 code") == "late")
            }
        }

        @Test func stringsOfDevices_runNothing_andShowWhatIsHidden() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            let hostile = "<img src=x onerror=alert(1)>\u{202E}=1\u{200B}"
            var device = SampleRegistration.device("hostile")
            for name in ["deviceModel", "systemName", "systemVersion", "carrier", "appStore", "locale", "timeZoneId"] {
                device[name] = .string(hostile)
            }
            _ = try await app.put("hostile", SampleRegistration.make("hostile", device: device), as: "<b>'\"")
            try await Console.shared.visit(page: "lookup", of: app, as: .support) { browser in
                try await Self.look(up: "hostile", in: browser)
                try await browser.wait(forText: "First registration.")
                try await browser.run("document.querySelectorAll('details').forEach((each) => each.open = true)")
                #expect(try await browser.run("return document.querySelectorAll('main img, main dd b').length") == 0)
                let page = try await Self.page(of: browser)
                #expect(page.contains("<img src=x onerror=alert(1)>") && page.contains("U+202E"))
                #expect(!page.contains("\u{202E}") && !page.contains("\u{200B}"))
            }
        }

        private static func look(up text: String, in browser: Browser) async throws {
            try await browser.run(
                """
                document.querySelector('[type=search]').value = arguments[0];
                document.querySelector('form.lookup').requestSubmit();
                """, .string(text))
        }

        private static func page(of browser: Browser) async throws -> String {
            try await browser.run("return document.querySelector('main').textContent").string ?? ""
        }
    }
}
