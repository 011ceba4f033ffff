import Foundation
import RegistryTestSupport

/// axe-core finds violations of WCAG. It is part of PyPI's axe-playwright-python, is used in tests and never shipped.
enum Axe {
    /// `make packages` unpacks it here.
    private static let script = Console.packageRoot.appending(path: ".build/axe/axe_playwright_python/axe.min.js")

    static var isInstalled: Bool { FileManager.default.fileExists(atPath: script.path) }

    /// The violations in the page, each with the elements concerned.
    static func violations(in browser: Browser) async throws -> [String] {
        let source = try String(contentsOf: script, encoding: .utf8)
        let found = try await browser.run(
            source + """
                ;const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
                const {violations} = await axe.run(document, {runOnly: tags});
                return violations.map(({id, nodes}) => id + ': ' + nodes.map((node) => node.html).join('\\n    '));
                """)
        return found.array.compactMap(\.string)
    }
}
