import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    @Suite("Keyboard")
    struct KeyboardTests {
        @Test func everything_worksByKeyboardAlone() async throws {
            let console = try Console.shared
            let key = try await console.everydayKey(of: console.filled)
            try await console.withBrowser { browser in
                // Sign in.
                try await browser.open(console.address)
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                try await browser.tab(to: "signin-screen [type=password]")
                try await browser.type(key)
                try await browser.press(.enter)
                try await browser.wait(for: "document.querySelector('audience-screen')")

                // Build: iPhones on 17.2 or later.
                try await browser.tab(to: "[data-part=add]")
                try await browser.press(.enter)
                try await browser.wait(for: "document.activeElement.matches('[data-part=field]')")
                try await browser.tab(to: "[role=combobox]")
                try await browser.type("iOS")
                try await browser.press(.enter)
                try await browser.wait(for: "document.querySelector('.chip')")
                try await browser.tab(to: "[data-part=add]")
                try await browser.press(.enter)
                try await browser.wait(for: "document.querySelectorAll('.sentence').length === 2")
                #expect(try await browser.run("return document.activeElement.value") == "osVersion")
                try await browser.tab(to: "[data-part=operator]")
                // From "is" over "is not" to "is at least".
                for operation in ["isNot", "gte"] {
                    try await browser.press(.down)
                    try await browser.wait(for: "document.activeElement.value === '\(operation)'")
                }
                try await browser.tab(to: "[role=combobox]")
                try await browser.type("17.2")
                try await browser.press(.escape)
                try await browser.wait(for: "!document.querySelector('.figures.stale')")
                let body: JSON = ["filter": ["systemName": "iOS", "osVersion": ["gte": "17.2"]]]
                let count = try await console.filled.count(body)
                try await browser.wait(for: "document.querySelector('[data-count]').textContent === '\(count)'")

                // Save.
                try await browser.tab(to: ".heading button.primary")
                try await browser.press(.enter)
                try await browser.wait(for: "document.activeElement.matches('dialog input')")
                try await browser.type("by-keyboard")
                try await browser.press(.enter)
                try await browser.wait(for: "document.querySelector('.toast')")
                let saved = try await console.filled.send("GET", "/segments/by-keyboard", by: .role(.marketing))
                #expect(saved.json["filter"] == body["filter"])

                // Go to the other screens, and plan when to send.
                for path in ["breakdown", "waves"] {
                    try await browser.tab(to: "nav a[href=\"#/\(path)\"]")
                    try await browser.press(.enter)
                    try await browser.wait(
                        for: "document.querySelector('\(path)-screen h1') === document.activeElement")
                }
                try await browser.tab(to: "input[type=time]")
                try await browser.type("1130AM")
                try await browser.wait(for: "document.activeElement.value === '11:30'")
                try await browser.wait(for: "document.querySelector('waves-screen tbody tr')")

                // Export, until the file is complete.
                try await browser.withDownloads { folder in
                    try await browser.tab(to: "nav a[href=\"#/export\"]")
                    try await browser.press(.enter)
                    try await browser.wait(for: "document.querySelector('export-screen .primary:enabled')")
                    try await browser.tab(to: "[value=authorizationStatus]")
                    try await browser.type(" ")
                    try await browser.tab(to: ".actions .primary")
                    try await browser.press(.enter)
                    let lines = try await Browser.download(in: folder).components(separatedBy: "\r\n")
                    // A header, the rows, and what follows the last line break.
                    #expect(lines[0].contains("authorizationStatus"), "\(lines[0])")
                    #expect(lines.count == Int(count) + 2, "\(lines.prefix(4)) … \(lines.suffix(3))")
                }
            }
        }
    }
}
