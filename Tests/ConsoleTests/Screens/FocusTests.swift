import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// Whoever presses something by keyboard stays where they were, and a screen reader says what came of it.
    @Suite("Focus")
    struct FocusTests {
        @Test func focus_staysInAResult_thatIsReplaced() async throws {
            try await Console.shared.visit("breakdown") { browser, _ in
                try await Self.press(".bars button", in: browser)
                try await browser.wait(for: "document.querySelectorAll('.bars button').length === 1")
                #expect(try await Self.focused(in: browser, matches: ".bars button"))

                try await Console.shared.show("world", in: browser)
                try await browser.run("document.querySelector('details.card').open = true")
                try await Self.press("details .table button", in: browser)
                try await browser.wait(for: "document.querySelectorAll('details .table button').length === 1")
                // The table was open, and is again.
                try await browser.wait(for: "document.activeElement.matches('details[open] .table button')")
            }
        }

        /// "Show more" is replaced by a spinner, and then by the next "Show more".
        @Test func focus_comesBack_afterLoading() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {h, replace} = await module('core/dom.js');
                const more = () => [h('button', {}, 'Other'), h('button', {class: 'more'}, 'More')];
                const place = h('div', {}, more());
                document.documentElement.append(place);
                place.lastChild.focus();
                replace(place, h('p', {}, '…'));
                const between = document.activeElement === place;
                replace(place, more());
                return [between, document.activeElement.textContent];
                """)
            #expect(found == [true, "More"])
        }

        @Test func focus_staysAtTheTopic_thatWasSaved() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for topic in ["news", "offers"] {
                _ = try await app.send(
                    "PUT", "/topics/\(topic)", ["name": .string(topic), "default": "in"], by: .role(.marketing))
            }
            try await Console.shared.visit("topics", of: app) { browser, _ in
                let edit =
                    "[...document.querySelectorAll('tbody button')]"
                    + ".find((button) => button.textContent === 'Edit offers')"
                try await browser.run("\(edit).focus()")
                try await browser.press(.enter)
                try await browser.fill("Description", "What is cheap")
                try await browser.click("Continue")
                try await browser.click("Save")
                try await browser.wait(for: "document.querySelector('tbody')?.textContent.includes('What is cheap')")
                try await browser.wait(for: "document.activeElement === \(edit)")
            }
        }

        /// A region that is inserted with its first text is often not read out.
        @Test func regionOfMessages_isThereFromTheStart_andKeepsErrors() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.run("window.region = document.querySelector('.toasts[role=status]')")
                try await browser.run(
                    """
                    navigator.clipboard.writeText = () => Promise.reject();
                    document.querySelector('#tab-json').click();
                    """)
                try await browser.click("Copy JSON")
                try await browser.wait(for: "document.querySelector('.toast.error')")
                try await Console.shared.show("breakdown", in: browser)
                let isKept = "return region.isConnected && region.contains(document.querySelector('.toast'))"
                #expect(try await browser.run(isKept) == true)
                try await browser.run("document.querySelector('.toast button').click()")
                try await browser.wait(for: "document.querySelector('.bars button')")
                try await browser.run("document.querySelector('.bars button').click()")
                try await browser.wait(for: "region.querySelector('.toast.done')")
                #expect(try await browser.run("return document.querySelector('.toast.error')") == .null)
            }
        }

        @Test func number_isReadOut() async throws {
            try await Console.shared.visit("audience") { browser, app in
                try await browser.edit(["locale": "de"])
                let count = try await app.count(["filter": ["locale": "de"]])
                try await browser.wait(
                    for: "document.querySelector('.numbers [role=status]').textContent === 'Reachable: \(count)'")
            }
        }

        @Test func lookUp_saysWhatWasFound_once() async throws {
            try await Console.shared.visit("lookup", expecting: ["404"]) { browser, _ in
                for (text, heading) in [("phone-1", "Installation phone-1"), ("no-such-thing", "Not found")] {
                    try await browser.run(
                        """
                        document.querySelector('[type=search]').value = arguments[0];
                        document.querySelector('form.lookup').requestSubmit();
                        """, .string(text))
                    try await browser.wait(for: "document.activeElement.textContent === '\(heading)'")
                    #expect(try await browser.run("return document.activeElement.closest('[aria-live]')") == .null)
                }
            }
        }

        @Test func refusal_isShownInItsDialog_whichKeepsWhatWasTyped() async throws {
            try await Console.shared.visit("topics", expecting: ["409"]) { browser, _ in
                try await Self.refuse("PUT", in: browser)
                try await browser.click("New topic")
                try await browser.fill("Identifier", "late")
                try await browser.fill("Name", "Late")
                try await browser.click("Continue")
                try await browser.wait(
                    for: "document.querySelector('dialog [role=alert]')?.textContent === 'No more fit.'")
                #expect(try await browser.run("return document.querySelector('dialog input').value") == "late")
            }
        }

        @Test func refusedKey_keepsItsNameAndRoles() async throws {
            let console = try Console.shared
            try await console.visit(page: "operations/keys", of: console.filled, as: .admin) { browser in
                try await Self.refuse("POST", in: browser)
                try await browser.click("New key")
                try await browser.fill("Name", "reports")
                try await browser.fill("marketing", true)
                try await browser.click("Create")
                try await browser.wait(forText: "No more fit.")
                #expect(try await browser.run("return document.querySelector('dialog input').value") == "reports")
            }
        }

        @Test func secret_isNotLostByEscape() async throws {
            let console = try Console.shared
            try await console.visit(page: "operations/keys", of: console.filled, as: .admin) { browser in
                try await browser.click("New key")
                try await browser.fill("Name", "escape")
                try await browser.fill("marketing", true)
                try await browser.click("Create")
                try await browser.wait(for: "document.querySelector('input.secret')")
                for _ in 0..<2 { try await browser.press(.escape) }
                #expect(try await browser.run("return Boolean(document.querySelector('input.secret'))") == true)
                try await browser.click("I have stored it")
                try await browser.wait(for: "!document.querySelector('dialog')")
            }
        }

        /// From now on the service refuses calls of a method.
        private static func refuse(_ method: String, in browser: Browser) async throws {
            try await browser.run(
                """
                const real = window.fetch;
                window.fetch = async (url, options) => (options.method === arguments[0]
                  ? new Response(JSON.stringify({code: 'another-code', detail: 'No more fit.'}), {status: 409})
                  : real(url, options));
                """, .string(method))
        }

        private static func press(_ selector: String, in browser: Browser) async throws {
            try await browser.wait(for: "document.querySelector('\(selector)')")
            try await browser.run("document.querySelector('\(selector)').focus()")
            try await browser.press(.enter)
        }

        private static func focused(in browser: Browser, matches selector: String) async throws -> Bool {
            try await browser.run("return document.activeElement.matches('\(selector)')") == true
        }
    }
}
