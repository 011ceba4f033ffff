import Foundation
import RegistryTestSupport
import Testing

// How to test a screen of the console:
//
//     extension ConsoleTests {
//         @Suite("Waves")
//         struct WavesTests {
//             @Test func waves_areListed() async throws {
//                 try await Console.shared.visit("waves") { browser, app in
//                     try await browser.wait(for: "document.querySelector('waves-screen table')")
//                 }
//             }
//         }
//     }
//
// `visit` opens a browser, signs in and shows the screen. The test fails on an error in the browser's console, an
// uncaught exception and a violation of the content security policy, unless `expecting` names a part of it.
// `ScreenTests` opens every screen of core/screens.js by itself.

/// The promises of the page in a real browser. The suites share a registry, a driver and two apps.
@Suite(
    "Console", .enabled(if: Chromium.isInstalled, "chromium and chromium-driver are not installed: make packages"),
    .serialized, .sharedConsole)
enum ConsoleTests {}

/// A running registry, the browser's driver, and apps to look at.
struct Console: Sendable {
    let chromium: Chromium
    let registry: Registry
    /// With installations, topics and a segment.
    let filled: RegistryApp
    let empty: RegistryApp

    static var shared: Console {
        get throws { try #require(SharedConsole.current) }
    }

    static let packageRoot = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The folder that the service embeds.
    static let files = packageRoot.appending(path: "Sources/Registry/Console/Files")

    var address: String { "http://127.0.0.1:\(registry.client.port)/console/" }

    /// Lends a browser whose window is empty, and fails on faults of the pages that it visits.
    ///
    /// - Parameter expecting: parts of faults that the test provokes.
    func withBrowser<Value: Sendable>(
        _ look: Browser.Look = Browser.Look(), expecting expected: [String] = [],
        _ body: (Browser) async throws -> Value
    ) async throws -> Value {
        let browser = try await Browser(chromium, look, origin: "http://127.0.0.1:\(registry.client.port)")
        do {
            let value = try await body(browser)
            let faults = try await browser.faults(besides: expected)
            #expect(faults.isEmpty, "\(faults)")
            browser.release()
            return value
        } catch {
            let faults = try? await browser.faults()
            try? await browser.close()
            Issue.record("the browser reported: \(faults ?? [])")
            throw error
        }
    }

    /// Signs in with a key of an app; by default with one that may use every screen but Operations.
    func signIn(_ browser: Browser, to app: RegistryApp? = nil, key: String? = nil) async throws {
        try await browser.open(address)
        try await signInAgain(browser, to: app, key: key)
    }

    /// Fills the sign-in of the page that is open.
    func signInAgain(_ browser: Browser, to app: RegistryApp? = nil, key: String? = nil) async throws {
        let app = app ?? filled
        let key = if let key { key } else { try await everydayKey(of: app) }
        try await submit(key, in: browser)
        try await browser.wait(for: "document.querySelector('nav')")
    }

    /// Sends a key by the sign-in of the page that is open.
    func submit(_ key: String, in browser: Browser) async throws {
        try await browser.wait(for: "document.querySelector('signin-screen form')")
        try await browser.run(
            """
            document.querySelector('signin-screen [type=password]').value = arguments[0];
            document.querySelector('signin-screen form').requestSubmit();
            """, .string(key))
    }

    func signInAsAdmin(_ browser: Browser) async throws { try await signIn(browser, key: RunningService.adminKey) }

    /// Shows a screen to somebody who has signed in.
    func show(_ path: String, in browser: Browser) async throws {
        try await browser.run("location.hash = '#/' + arguments[0]", .string(path))
        try await browser.wait(for: "document.querySelector('main [aria-busy]') === null")
        try await browser.wait(for: "document.querySelector('nav [aria-current]')?.hash === '#/\(path)'")
        try await browser.wait(for: "document.querySelector('main h1') && !document.querySelector('main [aria-busy]')")
    }

    /// Lends a browser that shows a screen.
    func visit<Value: Sendable>(
        _ path: String, of app: RegistryApp? = nil, look: Browser.Look = Browser.Look(),
        expecting expected: [String] = [], _ body: (Browser, RegistryApp) async throws -> Value
    ) async throws -> Value {
        try await withBrowser(look, expecting: expected) { browser in
            try await signIn(browser, to: app)
            try await show(path, in: browser)
            return try await body(browser, app ?? filled)
        }
    }

    /// Lends a browser that shows a page, such as `operations/keys`, to somebody with a key of an app.
    func visit<Value: Sendable>(
        page: String, of app: RegistryApp, as role: RegistryApp.Role, look: Browser.Look = Browser.Look(),
        expecting expected: [String] = [], _ body: (Browser) async throws -> Value
    ) async throws -> Value {
        try await withBrowser(look, expecting: expected) { browser in
            try await signIn(browser, to: app, key: app.key(role))
            try await browser.show(page: page)
            return try await body(browser)
        }
    }

    /// The text of a new key with the roles of people.
    func everydayKey(of app: RegistryApp) async throws -> String {
        try await newKey(of: app, roles: ["marketing", "sender", "service", "support"]).text
    }

    func newKey(of app: RegistryApp, roles: [String]) async throws -> (id: String, text: String) {
        let response = try await registry.send(
            "POST", app.path + "/keys", ["name": "people", "roles": .array(roles.map { .string($0) })])
        return (response.json["id"].string ?? "", response.json["key"].string ?? "")
    }
}

// MARK: - The shared console

/// Lends a console to all suites.
struct SharedConsole: SuiteTrait, TestScoping {
    @TaskLocal static var current: Console?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withRegistry { registry in
            let filled = try await RegistryApp.make(in: registry)
            try await Fleet.fill(filled)
            let empty = try await RegistryApp.make(in: registry)
            try await Chromium.with { chromium in
                let console = Console(chromium: chromium, registry: registry, filled: filled, empty: empty)
                try await Self.$current.withValue(console) { try await function() }
            }
        }
    }
}

extension Trait where Self == SharedConsole {
    static var sharedConsole: SharedConsole { SharedConsole() }
}
