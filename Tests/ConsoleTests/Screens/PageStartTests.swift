import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The page says what hinders it, instead of staying blank or turning for ever.
    @Suite("Start and faults")
    struct PageStartTests {
        @Test(arguments: [
            "delete Map.groupBy",
            "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError') }})",
        ])
        func browserThatLacksSomething_isTold(lack: String) async throws {
            let console = try Console.shared
            try await console.withBrowser { browser in
                try await browser.devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(lack)])
                try await browser.open(console.address)
                try await browser.wait(forText: "This page needs a browser of 2024 or later that allows cookies.")
            }
        }

        @Test func codeOfALink_isSentAgain_afterTheServiceCouldNotBeReached() async throws {
            let console = try Console.shared
            try await console.withBrowser(expecting: ["401"]) { browser in
                let source = """
                    const real = window.fetch;
                    window.codes = [];
                    window.fetch = async (url, options) => {
                      if (options.method === 'POST') codes.push(JSON.parse(options.body).code);
                      if (codes.length === 1) throw new TypeError('no network');
                      return real(url, options);
                    };
                    """
                try await browser.devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(source)])
                // A percent sign alone encodes nothing.
                try await browser.open(console.address + "#code=12%")
                try await browser.click("Try again")
                try await browser.wait(forText: "This link has been used before or has expired.")
                #expect(try await browser.run("return codes") == ["12%", "12%"])
                #expect(try await browser.run("return location.href.includes('code')") == false)
            }
        }

        @Test func tooManySignIns_areCountedDown_inTheLanguageOfThePage() async throws {
            let console = try Console.shared
            try await console.withBrowser(Browser.Look(language: "de-DE")) { browser in
                try await browser.open(console.address)
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                try await browser.run(
                    """
                    window.fetch = async () => new Response(
                      JSON.stringify({code: 'too-many-failed-authentications', detail: 'Too many.'}),
                      {status: 429, headers: {'Retry-After': '2'}});
                    """)
                try await console.submit("prk_0_0", in: browser)
                let button = "document.querySelector('signin-screen button')"
                try await browser.wait(for: "\(button).textContent === 'Versuchen Sie es in 1 s erneut.'")
                #expect(try await browser.run("return \(button).disabled") == true)
                try await browser.wait(forText: "Zu viele Anmeldungen dieser Adresse sind gescheitert.")
                try await browser.wait(for: "!\(button).disabled && \(button).textContent === 'Anmelden'")
            }
        }

        @Test func answerThatIsNotTheServices_isSaid() async throws {
            try await Console.shared.visit("world") { browser, _ in
                try await browser.run("window.fetch = async () => new Response('<html>Sign in to the network</html>')")
                try await browser.run("location.hash = '#/breakdown'")
                try await browser.wait(forText: "has answered in its place")
                try await browser.expectNoViolations("an answer that is not the service's")
            }
        }

        @Test func faultOfThePage_isSaid_andReported() async throws {
            try await Console.shared.visit("world", expecting: ["undefined"]) { browser, _ in
                try await browser.run("window.fetch = async () => new Response('{}')")
                try await browser.run("location.hash = '#/breakdown'")
                try await browser.wait(forText: "This page has a fault")
                #expect(try await browser.run("return document.querySelector('.loading, [aria-busy]')") == .null)
                let reported = try await browser.run("return faults.length > 0")
                #expect(reported == true)
            }
        }

        /// A viewer whose clock is days behind.
        @Test func times_areTheServices() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {call, now} = await module('core/client.js');
                const {relative} = await module('core/text.js');
                const ahead = new Date(Date.now() + 5 * 86_400_000);
                window.fetch = async () => new Response('{}', {headers: {Date: ahead.toUTCString()}});
                await call('GET', '/v1/session');
                return [Math.round((now() - Date.now()) / 86_400_000), relative(ahead.toISOString())];
                """)
            #expect(found[0] == 5)
            #expect(found[1].string?.contains("second") == true || found[1] == "now", "\(found[1])")
        }

        @Test func numbersAndUnits_areSaidRightly() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {percent} = await module('core/text.js');
                const {inWords} = await module('filter/summary.js');
                const {treeOf} = await module('filter/tree.js');
                const {h} = await module('core/dom.js');
                const {faultText} = await module('core/panels.js');
                const said = (within) => h('p', {}, inWords(treeOf({lastSeenAt: {within}}))).textContent;
                return [
                  [0, 0.0004, 0.5, 0.9994, 0.9996, 1].map(percent), said('P1D'), said('P30D'), said('P1W'),
                  faultText({code: 'out-of-range', detail: 'This must be from 1 to 1000.'}),
                ];
                """)
            #expect(
                found == [
                    ["0.0%", "<0.1%", "50.0%", "99.9%", ">99.9%", "100.0%"], "Last seen is within the last 1 day",
                    "Last seen is within the last 30 days", "Last seen is within the last 1 week",
                    "This must be from 1 to 1,000.",
                ])
        }

        /// German decimals have a comma, and German spreadsheets a semicolon between cells.
        @Test(arguments: [("en-US", "a,b\r\n0.5,\"x;y\"\r\n"), ("de-DE", "a;b\r\n0,5;\"x;y\"\r\n")])
        func csv_isOneOfTheLanguagesSpreadsheets(language: String, text: String) async throws {
            let found = try await Console.shared.evaluate(
                "return (await module('parts/table.js')).csv(['a', 'b'], [[0.5, 'x;y']]);",
                look: Browser.Look(language: language))
            #expect(found.string == "\u{FEFF}" + text)
        }
    }
}
