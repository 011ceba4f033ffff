import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// Each screen says what it cannot show, and why.
    @Suite("States of screens")
    struct StateTests {
        static let screens = [
            "world", "export", "waves", "topics", "messages", "operations/keys", "operations/policy",
            "operations/changes",
        ]

        @Test func offline_isSaid_andTryingAgainHelps() async throws {
            try await Console.shared.withBrowser { browser in
                try await Self.signIn(browser)
                try await browser.run("window.online = window.fetch")
                for screen in Self.screens {
                    let element = "\(screen.prefix { $0 != "/" })-screen"
                    try await browser.run(
                        """
                        window.fetch = async () => { throw new TypeError('no network'); };
                        location.hash = '#/\(screen)';
                        """)
                    try await browser.wait(for: "document.querySelector('\(element) .offline')")
                    try await browser.expectNoViolations("\(screen) offline")
                    try await browser.run("window.fetch = window.online")
                    try await browser.click("Try again")
                    try await browser.wait(for: "!document.querySelector('.panel.offline, .panel.loading')")
                }
            }
        }

        @Test func error_isSaid_withTheNumberOfItsRequest() async throws {
            try await Console.shared.withBrowser { browser in
                try await Self.signIn(browser)
                try await browser.run(
                    """
                    const send = window.fetch;
                    window.fetch = async (url, options) => (String(url).includes('/topics')
                      ? new Response(JSON.stringify({
                          title: 'Internal Server Error', code: 'a-younger-code', detail: 'Something failed.',
                          requestId: 'abc123',
                        }), {status: 500})
                      : send(url, options));
                    """)
                try await browser.show(page: "topics")
                try await browser.wait(forText: "Something failed.")
                try await browser.wait(forText: "abc123")
                try await browser.expectNoViolations("an error")
            }
        }

        @Test func roleThatIsMissing_isNamed() async throws {
            try await Console.shared.withBrowser { browser in
                try await Console.shared.signIn(
                    browser, to: Console.shared.filled, key: try Console.shared.filled.key(.support))
                for screen in ["export", "waves", "messages", "operations"] {
                    try await browser.run("location.hash = '#/\(screen)'")
                    try await browser.wait(for: "document.querySelector('main .panel.forbidden')")
                    try await browser.expectNoViolations("\(screen) forbidden")
                }
            }
        }

        private static func signIn(_ browser: Browser) async throws {
            let app = try Console.shared.filled
            try await Console.shared.signIn(browser, to: app, key: app.key(.admin))
        }
    }
}
