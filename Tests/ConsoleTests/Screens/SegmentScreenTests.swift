import RegistryTestSupport
import Testing

extension ConsoleTests {
    @Suite("Segments")
    struct SegmentScreenTests {
        @Test func segmentOfSomebodyElse_isShown_andNotOverwritten() async throws {
            try await Console.shared.visit("segments") { browser, app in
                let path = "/segments/shared"
                _ = try await app.send("PUT", path, ["filter": ["locale": "de"]], by: .role(.marketing))
                try await Console.shared.show("audience", in: browser)
                try await Console.shared.show("segments", in: browser)
                try await browser.wait(for: "\(Self.button("shared"))")
                try await browser.run("\(Self.button("shared")).click()")
                try await browser.wait(for: "document.querySelector('audience-screen .sentence')")
                try await browser.edit(["locale": "fr"])
                _ = try await app.send("PUT", path, ["filter": ["locale": "ja"]], by: .role(.marketing))

                // Keys, as Chromium lets one Escape close all dialogs that no person has opened.
                try await browser.run("document.querySelector('.heading button.primary').focus()")
                try await browser.press(.enter)
                try await browser.wait(for: "document.activeElement.matches('dialog input')")
                try await browser.press(.enter)
                try await browser.wait(for: "document.querySelector('dialog table')")
                let cells = "return [...document.querySelectorAll('dialog td')].map((td) => td.innerText)"
                #expect(
                    try await browser.run(cells)
                        == ["Language and region is Japanese ja", "Language and region is French fr"])
                // What cannot be undone has not the first focus.
                #expect(try await browser.run("return document.activeElement.textContent") == "Cancel")
                try await browser.press(.escape)
                try await browser.wait(for: "document.querySelectorAll('dialog').length === 1")
                try await browser.press(.escape)
                try await browser.wait(for: "!document.querySelector('dialog')")
                let stored = try await app.send("GET", path, by: .role(.marketing)).json
                #expect(stored["filter"] == ["locale": "ja"])
            }
        }

        @Test func link_opensItsSegment() async throws {
            try await Console.shared.visit("breakdown") { browser, _ in
                try await browser.run("location.hash = '#/segments/germans'")
                try await browser.wait(for: "document.querySelector('.opened')?.textContent.includes('germans')")
            }
        }

        /// A thousand segments must not be a thousand counts.
        @Test func segments_areCounted_whenTheyComeIntoSight() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for number in 100..<140 {
                _ = try await app.send(
                    "PUT", "/segments/s\(number)", ["filter": ["locale": "de"]], by: .role(.marketing))
            }
            try await Console.shared.visit("breakdown", of: app) { browser, _ in
                try await browser.recordRequests()
                try await Console.shared.show("segments", in: browser)
                let cell = { (row: String) in "document.querySelector('tbody tr:\(row)-child .numeric').textContent" }
                try await browser.wait(for: "\(cell("first")).startsWith('0')")
                #expect(try await browser.run("return \(cell("last"))") == "…")
                try await browser.run("document.querySelector('tbody tr:last-child').scrollIntoView()")
                try await browser.wait(for: "\(cell("last")).startsWith('0')")
                #expect(try await browser.requests(with: "/count ").integer ?? 40 < 40)
            }
        }

        @Test func segmentInUse_isNotDeleted_andTheListSaysWhere() async throws {
            try await Console.shared.visit("audience", expecting: ["409"]) { browser, app in
                _ = try await app.send("PUT", "/segments/inner", ["filter": ["locale": "de"]], by: .role(.marketing))
                _ = try await app.send(
                    "PUT", "/segments/outer", ["filter": ["segment": "inner"]], by: .role(.marketing))
                try await Console.shared.show("segments", in: browser)
                try await browser.wait(for: "\(Self.button("inner"))")
                let row = try await browser.run("return \(Self.button("inner")).closest('tr').textContent")
                #expect(row.string?.contains("outer") == true)
                try await browser.run("\(Self.button("inner")).closest('tr').querySelector('button.quiet').click()")
                try await browser.wait(for: "document.querySelector('dialog button.danger')")
                try await browser.run("document.querySelector('dialog button.danger').click()")
                try await browser.wait(for: "document.querySelector('.toast.error')")
                // Toasts still show after navigation.
                try await Console.shared.show("breakdown", in: browser)
                try await browser.wait(for: "document.querySelector('.bars button')")
                try await browser.run("document.querySelector('.bars button').click()")
                try await browser.wait(for: "document.querySelector('.toast.done')")
                #expect(try await app.send("GET", "/segments/inner", by: .role(.marketing)).status == 200)
            }
        }

        private static func button(_ name: String) -> String {
            "[...document.querySelectorAll('segments-screen button.link')].find((b) => b.textContent === '\(name)')"
        }
    }
}
