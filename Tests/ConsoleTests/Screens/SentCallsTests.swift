import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The page asks no more than it shows, so that a large app is no load.
    @Suite("Requests of the page")
    struct SentCallsTests {
        /// Counts by these fields read every installation. Whoever goes on editing wants only the newest number.
        @Test func slowCounts_waitUntilTheNumberRests() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.wait(for: "/[0-9]/.test(document.querySelector('[data-count=all]').textContent)")
                try await browser.recordRequests()
                try await browser.run(
                    """
                    const real = window.setTimeout;
                    window.rests = [];
                    window.setTimeout = (run, time) => (time === 700 ? rests.push(run) : real(run, time));
                    """)
                for (number, carrier) in ["Example", "Another"].enumerated() {
                    try await browser.edit(["carrier": .string(carrier)])
                    try await browser.wait(for: "rests.length === \(number + 1)")
                }
                #expect(try await browser.requests(with: "\"active\"") == 0)
                try await browser.run("for (const rest of rests) rest()")
                try await browser.wait(for: "requests.some((each) => each.includes('\"include\":\"all\"'))")
                #expect(try await browser.requests(with: "\"active\"") == 1)
            }
        }

        @Test func segment_isSavedWithoutReadingAll() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            try await Console.shared.visit("audience", of: app) { browser, _ in
                try await browser.edit(["locale": "de"])
                try await browser.recordRequests()
                for _ in 0..<2 {
                    try await browser.run("document.querySelector('.heading button.primary').click()")
                    try await browser.wait(for: "document.querySelector('dialog')")
                    try await browser.fill("Name", "mine")
                    try await browser.run("document.querySelector('dialog form').requestSubmit()")
                    // The second time the dialog asks whether to replace it.
                    try await browser.wait(
                        for: "document.querySelectorAll('dialog').length !== 1 && !document.querySelector('.loading')")
                    if try await browser.run("return document.querySelectorAll('dialog').length") == 2 {
                        try await browser.click("Replace")
                    }
                    try await browser.wait(for: "!document.querySelector('dialog')")
                }
                let calls = try await browser.run(
                    """
                    return requests.filter((each) => each.includes('/segments'))
                      .map((each) => each.replace(/\\/\\S*\\/segments/, '').split(' ').slice(0, 2).join(' '));
                    """)
                #expect(calls == ["GET /mine", "PUT /mine", "GET /mine", "PUT /mine"])
            }
        }

        /// A rare value may not be among the suggestions; it can be typed.
        @Test func valueThatIsNotSuggested_isUsedAsItIs() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["deviceModel": "a"])
                try await browser.run("document.querySelector('.chip button').click()")
                try await browser.run("document.querySelector('.sentence [role=combobox]').click()")
                try await browser.wait(for: "document.querySelector('[role=option] .count')")
                try await browser.type("rare-model")
                try await browser.wait(forText: "Not among the 1,000 most frequent values.")
                try await browser.press(.enter)
                try await browser.wait(for: "document.querySelector('.chip')?.textContent.startsWith('rare-model')")
            }
        }

        @Test func apps_areReadOnce_notOnEachScreen() async throws {
            try await Console.shared.withBrowser { browser in
                try await Console.shared.signInAsAdmin(browser)
                try await browser.recordRequests()
                for path in ["breakdown", "segments", "topics"] { try await Console.shared.show(path, in: browser) }
                #expect(try await browser.requests(with: "GET /console/v1/apps ") == 0)
                #expect(try await browser.run("return document.querySelectorAll('header option').length > 1") == true)
            }
        }

        /// The list has a value, and the installations have two.
        @Test func suggestions_sayThatThereAreMore() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.replaceInRequests("\"limit\":1000", by: "\"limit\":1")
                try await browser.edit(["carrier": "Example"])
                try await browser.run("document.querySelector('.sentence [role=combobox]').click()")
                try await browser.wait(forText: "One more value. Type it.")
                #expect(try await browser.run("return document.querySelectorAll('[role=option] .count').length") == 1)
            }
        }

        /// Each page of apps has one app.
        @Test func appBehindTheFirstPage_isTyped() async throws {
            let console = try Console.shared
            try await console.withBrowser(expecting: ["404"]) { browser in
                try await console.signInAsAdmin(browser)
                try await browser.replaceInRequests("limit=100", by: "limit=1")
                try await browser.click("Sign out")
                try await console.signInAgain(browser, key: RunningService.adminKey)
                let input = "document.querySelector('header.top input[list]')"
                try await browser.wait(for: input)
                #expect(try await browser.run("return \(input).list.options.length") == 1)
                let choose = """
                    const input = \(input);
                    input.value = arguments[0];
                    input.dispatchEvent(new Event('change'));
                    """
                for app in [console.filled.id, console.empty.id] {
                    try await browser.run(choose, .string(app))
                    try await browser.wait(for: "\(input)?.value === '\(app)'")
                }
                try await browser.run(choose, .string("com.example.nobody"))
                try await browser.wait(for: "document.querySelector('.toasts').textContent !== ''")
                #expect(try await browser.run("return \(input).value") == .string(console.empty.id))

                try await browser.show(page: "operations/apps")
                let rows = "document.querySelectorAll('main tbody tr').length"
                try await browser.wait(for: "\(rows) === 1")
                try await browser.click("Show more")
                try await browser.wait(for: "\(rows) === 2")
            }
        }
    }
}
