import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What a screen shows is the answer to the newest question. Audience, Waves and Look-up have tests of their own.
    @Suite("Late responses")
    struct LateResponseTests {
        @Test(arguments: [false, true])
        func breakdown_staysThatOfTheNewestField(failing: Bool) async throws {
            try await Console.shared.visit("breakdown") { browser, _ in
                try await browser.holdResponses(to: "\"carrier\"")
                try await browser.choose("carrier", in: "breakdown-screen label select")
                try await browser.waitForHeldResponse()
                try await browser.choose("systemName", in: "breakdown-screen label select")
                try await browser.wait(for: "document.querySelector('.bars')")
                let shown = try await browser.text("breakdown-screen")
                try await browser.releaseResponses(failing: failing)
                #expect(try await browser.text("breakdown-screen") == shown)
                #expect(shown.contains("Android"))
            }
        }

        @Test(arguments: [false, true])
        func world_staysThatOfTheNewestFilter(failing: Bool) async throws {
            try await Console.shared.visit("world") { browser, _ in
                try await browser.holdResponses(to: "\"filter\":{\"timeZone\":\"Asia/Tokyo\"}")
                // Both dots are pressed before the first answer. Nobody is in two zones.
                try await browser.run(
                    """
                    const dots = [...document.querySelectorAll('.dot')];
                    for (const zone of ['Tokyo', 'Berlin']) {
                      dots.find((dot) => dot.textContent.includes(zone)).dispatchEvent(new Event('click'));
                    }
                    """)
                try await browser.waitForHeldResponse()
                try await browser.wait(forText: "Nobody is in this audience")
                try await browser.releaseResponses(failing: failing)
                // The held request is the first of two.
                try await browser.wait(for: "!document.querySelector('world-screen [aria-busy]')")
                #expect(try await browser.text("world-screen").contains("Nobody is in this audience"))
                #expect(try await browser.run("return document.querySelectorAll('.dot, .offline').length") == 0)
            }
        }
    }
}
