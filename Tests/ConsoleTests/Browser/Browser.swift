import Foundation
import RegistryTestSupport

/// One browser with a window. Scripts run in the page but outside of its content security policy.
struct Browser: Sendable {
    /// How a window looks.
    struct Look: Sendable, CustomStringConvertible {
        var isDark = false
        var language = "en-US"
        var width = 1_280
        var height = 800

        var description: String { "\(isDark ? "dark" : "light") \(language) \(width)" }
    }

    /// A key that is no character, by its code point of WebDriver.
    enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case escape = "\u{E00C}"
        case down = "\u{E015}"
        case shift = "\u{E008}"
    }

    let chromium: Chromium
    let path: String
    private let language: String

    /// Opens a window in an idle browser, or in a new one.
    ///
    /// - Parameter origin: the page's, whose storage is emptied.
    init(_ chromium: Chromium, _ look: Look, origin: String) async throws {
        (self.chromium, language) = (chromium, look.language)
        let idle = chromium.takeIdle(look.language)
        path = if let idle { idle } else { try await Self.start(chromium, look.language) }
        if idle != nil { try await renew(origin) }
        try await resize(width: look.width, height: look.height)
        try await devTools(
            "Emulation.setEmulatedMedia",
            ["features": [["name": "prefers-color-scheme", "value": look.isDark ? "dark" : "light"]]])
        try await devTools("Page.addScriptToEvaluateOnNewDocument", ["source": .string(Self.faultCollector)])
    }

    /// - Returns: the path of the browser's session.
    private static func start(_ chromium: Chromium, _ language: String) async throws -> String {
        var arguments = ["--headless=new", "--hide-scrollbars", "--force-color-profile=srgb"]
        // Tests of modules open them as files.
        arguments.append("--allow-file-access-from-files")
        arguments += ["--lang=\(language)", "--accept-lang=\(language)"]
        // Chromium's sandbox refuses to run as root, as in a container.
        if getuid() == 0 { arguments.append("--no-sandbox") }
        let options: JSON = ["binary": .string(Chromium.binary), "args": .array(arguments.map { .string($0) })]
        let session = try await chromium.command(
            "POST", "/session",
            ["capabilities": ["alwaysMatch": ["goog:chromeOptions": options, "goog:loggingPrefs": ["browser": "ALL"]]]])
        return "/session/\(session["sessionId"].string ?? "")"
    }

    /// Replaces the windows by a new one, whose history and storage are empty.
    private func renew(_ origin: String) async throws {
        let old = try await chromium.command("GET", path + "/window/handles").array
        let new = try await chromium.command("POST", path + "/window/new", ["type": "tab"])["handle"]
        for handle in old {
            _ = try await chromium.command("POST", path + "/window", ["handle": handle])
            _ = try await chromium.command("DELETE", path + "/window")
        }
        _ = try await chromium.command("POST", path + "/window", ["handle": new])
        try await devTools("Network.clearBrowserCookies", [:])
        try await devTools("Network.clearBrowserCache", [:])
        try await devTools(
            "Storage.clearDataForOrigin", ["origin": .string(origin), "storageTypes": "local_storage"])
    }

    /// Keeps what the console would not show.
    private static let faultCollector = """
        window.faults = [];
        addEventListener('error', (event) => faults.push(`error: ${event.message}`));
        addEventListener('unhandledrejection', (event) => faults.push(`rejection: ${event.reason}`));
        addEventListener('securitypolicyviolation', (event) =>
          faults.push(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
        """

    /// Leaves the browser to later tests.
    func release() { chromium.addIdle(path, language) }

    func close() async throws { _ = try await chromium.command("DELETE", path) }

    // MARK: - Pages

    func open(_ address: String) async throws {
        _ = try await chromium.command("POST", path + "/url", ["url": .string(address)])
    }

    /// Runs a function body in the page and waits for the promise that it may return.
    @discardableResult
    func run(_ script: String, _ arguments: JSON...) async throws -> JSON { try await run(script, arguments) }

    @discardableResult
    func run(_ script: String, _ arguments: [JSON]) async throws -> JSON {
        // A promise of the page that stays open must not hold the test.
        try await chromium.command(
            "POST", path + "/execute/sync",
            ["script": .string("return (async () => { \(script) }).apply(null, arguments)"), "args": .array(arguments)])
    }

    /// Waits until an expression is truthy.
    func wait(for expression: String, within limit: Duration = .seconds(60)) async throws {
        try await eventually(expression, within: limit) {
            try await run("return Boolean(\(expression))") == true
        }
    }

    /// The text of the first element that a selector finds.
    func text(_ selector: String) async throws -> String {
        try await run("return document.querySelector('\(selector)')?.textContent ?? ''").string ?? ""
    }

    func screenshot() async throws -> [UInt8] {
        let image = try await chromium.command("GET", path + "/screenshot")
        return Data(base64Encoded: image.string ?? "").map(Array.init) ?? []
    }

    func devTools(_ command: String, _ parameters: JSON) async throws {
        _ = try await chromium.command(
            "POST", path + "/goog/cdp/execute", ["cmd": .string(command), "params": parameters])
    }

    func resize(width: Int, height: Int = 800) async throws {
        try await devTools(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(Int64(width)), "height": .integer(Int64(height)), "deviceScaleFactor": 1,
                "mobile": false,
            ])
    }

    // MARK: - Keyboard

    /// Types a text, or keys, into the element that has the focus.
    func type(_ text: String) async throws {
        let strokes = text.flatMap { character -> [JSON] in
            let key = JSON.string(String(character))
            return [["type": "keyDown", "value": key], ["type": "keyUp", "value": key]]
        }
        _ = try await chromium.command(
            "POST", path + "/actions", ["actions": [["type": "key", "id": "keyboard", "actions": .array(strokes)]]])
    }

    func press(_ key: Key) async throws { try await type(key.rawValue) }

    /// Moves the focus with the tabulator until it is on an element that matches.
    func tab(to selector: String, stepsMax: Int = 80) async throws {
        for _ in 0..<stepsMax {
            try await press(.tab)
            if try await run("return document.activeElement.matches('\(selector)')") == true { return }
        }
        throw NotReached(selector: selector)
    }

    // MARK: - Faults

    /// What went wrong in the page since it was opened: errors of the console, uncaught exceptions, rejected promises
    /// and violations of the content security policy. Chromium also reports a 404, by which a page learns that a name
    /// is free: that is no fault.
    ///
    /// - Parameter expected: parts of messages that the test provokes, such as `401`.
    func faults(besides expected: [String] = []) async throws -> [String] {
        let log = try await chromium.command("POST", path + "/se/log", ["type": "browser"])
        let severe = log.array.filter { $0["level"] == "SEVERE" }.compactMap { $0["message"].string }
        let kept = try await run("return window.faults").array.compactMap(\.string)
        return (severe + kept).filter { fault in
            !expected.contains { fault.contains($0) }
                && !fault.contains(/\/v1\/apps\/[^\/]+\/[a-z]+\/[^\/ ]+ .*status of 404/)
        }
    }
}

/// The tabulator does not lead to an element.
struct NotReached: Error {
    let selector: String
}

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
