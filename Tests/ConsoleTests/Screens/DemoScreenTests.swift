import Foundation
import Glibc
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What `make run` prints leads a first visitor to a page with something to show.
    @Suite("The demo")
    struct DemoScreenTests {
        /// The most bytes of a picture in the documentation.
        private static let pictureBytesMax = 150 * 1_024
        private static let pictures = Console.packageRoot.appending(
            path: "Sources/Command/push-registry/Documentation.docc/Resources")

        /// Set `PUSH_REGISTRY_WRITE_PICTURES` to replace the pictures of the documentation.
        @Test func link_showsTheFleet_onEveryPicture() async throws {
            let console = try Console.shared
            try await Self.withDemo { link in
                try await console.withBrowser { browser in
                    try await browser.open(link)
                    try await browser.wait(for: "/[0-9]/.test(document.querySelector('[data-count=all]')?.textContent)")
                    #expect(try await browser.run("return location.href.includes('code')") == false)
                    try await browser.edit([
                        "systemName": "iOS", "osVersion": ["gte": "17.2"], "locale": ["de", "en"],
                    ])
                    try await browser.wait(for: "document.querySelectorAll('.keeps:not(:empty)').length === 3")
                    try await Self.keep(browser, "console-audience")
                    try await console.show("world", in: browser)
                    try await browser.run("document.querySelector('nav a[href=\"#/world\"]').blur()")
                    try await Self.keep(browser, "console-world")
                }
            }
        }

        private static func keep(_ browser: Browser, _ name: String) async throws {
            let picture = try await browser.screenshot()
            #expect(!picture.isEmpty && picture.count < pictureBytesMax, "\(name): \(picture.count) bytes")
            guard ProcessInfo.processInfo.environment["PUSH_REGISTRY_WRITE_PICTURES"] != nil else { return }
            try Data(picture).write(to: pictures.appending(path: "\(name).png"))
        }

        /// Starts the demo in a folder of its own, and waits for its link.
        private static func withDemo(_ body: (_ link: String) async throws -> Void) async throws {
            let folder = "/tmp/push-registry-demo-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            // The embedded PostgreSQL has another user if the tests run as root.
            chmod(folder, 0o755)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let command = try RegistryCommand(["serve", "--demo", "--listen", "127.0.0.1:0", "--data-dir", folder])
            defer { command.send(SIGKILL) }
            var link: String?
            try await eventually("the link is printed", within: .seconds(150)) {
                link = command.output.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+\/console\/#code=[0-9a-f]{64}\n/)
                    .map { String($0.output.dropLast()) }
                return link != nil || !command.isRunning
            }
            try await body(try #require(link, "\(command.log)"))
            command.send(SIGTERM)
            #expect(try await command.exitStatus() == 0)
        }
    }
}
