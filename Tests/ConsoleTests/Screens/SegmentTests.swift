import RegistryTestSupport
import Testing

extension ConsoleTests {
    @Suite("Segments")
    struct SegmentTests {
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

                try await browser.run("document.querySelector('.heading button.primary').click()")
                try await browser.wait(for: "document.querySelector('dialog #segment-name')")
                try await browser.run("document.querySelector('dialog form').requestSubmit()")
                try await browser.wait(for: "document.querySelector('dialog .difference')")
                let difference = try await browser.text("dialog .difference")
                #expect(
                    difference.contains("-     \"locale\": \"ja\"") && difference.contains("+     \"locale\": \"fr\""))
                try await browser.press(.escape)
                try await browser.wait(for: "!document.querySelector('dialog')")
                let stored = try await app.send("GET", path, by: .role(.marketing)).json
                #expect(stored["filter"] == ["locale": "ja"])
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
