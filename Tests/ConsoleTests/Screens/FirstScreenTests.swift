import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The page is fast: what it needs is known to the browser at once.
    @Suite("First screen")
    struct FirstScreenTests {
        @Test func firstNumber_showsWithin300Milliseconds_andTwoRoundTrips() async throws {
            let console = try Console.shared
            try await console.visit("audience") { browser, _ in
                var fastest = Int64.max
                for _ in 0..<5 {
                    try await browser.open(console.address)
                    try await browser.wait(for: "/[0-9]/.test(document.querySelector('[data-count]')?.textContent)")
                    fastest = min(fastest, try await browser.run(Self.timeOfFirstNumber).integer ?? .max)
                }
                #expect(fastest <= 300)
                let isSecond = try await browser.run(
                    """
                    const entries = performance.getEntriesByType('resource');
                    const count = entries.find((entry) => entry.name.endsWith('/audience/count'));
                    const session = entries.filter((entry) => entry.name.endsWith('/session'));
                    const before = entries.filter((entry) => entry.startTime < count.startTime && entry !== session[0]);
                    // One round for the session and all files, then the count.
                    return session.length === 1 && before.every((entry) => entry.initiatorType !== 'fetch');
                    """)
                #expect(isSecond == true)
            }
        }

        /// When the first count had arrived, in milliseconds since the navigation.
        private static let timeOfFirstNumber = """
            const entries = performance.getEntriesByType('resource');
            return Math.round(entries.find((entry) => entry.name.endsWith('/audience/count')).responseEnd);
            """
    }
}
