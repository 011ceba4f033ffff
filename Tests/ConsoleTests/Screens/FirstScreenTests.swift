import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The page is fast: what it needs is known to the browser at once.
    @Suite("First screen")
    struct FirstScreenTests {
        @Test func page_preloadsEveryModule_thatTheFirstScreenImports() throws {
            let page = try String(contentsOf: Console.files.appending(path: "index.html"), encoding: .utf8)
            let preloaded = Set(page.matches(of: /modulepreload" href="\.\/([^"]+)"/).map { String($0.1) })
            var needed: Set<String> = []
            for entry in ["app.js", "screens/audience.js"] { try Self.visit(entry, &needed) }
            #expect(needed.subtracting(preloaded) == ["app.js"])
        }

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

        /// The modules that a module imports statically.
        private static func visit(_ path: String, _ found: inout Set<String>) throws {
            guard found.insert(path).inserted else { return }
            let file = Console.files.appending(path: path)
            let source = try String(contentsOf: file, encoding: .utf8)
            for match in source.matches(of: /(?:from|import) '(\.[^']+)'/) {
                let target = file.deletingLastPathComponent().appending(path: String(match.1)).standardizedFileURL
                try visit(String(target.path.dropFirst(Console.files.path.count + 1)), &found)
            }
        }
    }
}
