import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What came of a campaign.
    @Suite("Messages")
    struct MessageScreenTests {
        @Test func funnel_isShownAsAWhole_byPlatform_andOverTime() async throws {
            let app = try await Self.appWithCampaign()
            try await Console.shared.visit(page: "messages", of: app, as: .marketing) { browser in
                try await browser.wait(forText: "Spring <b>")
                try await browser.expectNoViolations("messages")
                try await browser.click("Spring")
                try await browser.wait(for: "document.querySelectorAll('.bars li').length === 3")
                #expect(try await browser.texts(".bars .bar-count") == ["4", "3", "1"])
                try await browser.wait(for: "document.querySelectorAll('tbody tr').length > 1")
                #expect(
                    try await browser.rows("tbody tr")[0] == [
                        "Apple", "", "4", "0", "3", "1", "75.0%", "33.3%", "0", "0",
                    ])
                try await browser.wait(for: "document.querySelector('.chart')")
                let isCut = "const {scrollWidth, clientWidth} = document.querySelector('.table'); "
                #expect(try await browser.run(isCut + "return scrollWidth > clientWidth") == false)
                try await browser.expectNoViolations("a message")

                try await browser.fill("By", "locale")
                try await browser.wait(for: "document.querySelector('tbody th')?.textContent.startsWith('German')")
            }
        }

        @Test func messageThatNobodyGot_saysSo() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.send("PUT", "/messages/quiet", [:], by: .role(.sender))
            try await Console.shared.visit(page: "messages/quiet", of: app, as: .marketing) { browser in
                try await browser.wait(forText: "No recipients have been exported yet")
                try await browser.expectNoViolations("a message that was not handed out")
            }
        }

        @Test(arguments: [false, true])
        func groups_stayThoseOfTheNewestField(failing: Bool) async throws {
            let app = try await Self.appWithCampaign()
            try await Console.shared.visit(page: "messages/spring", of: app, as: .marketing) { browser in
                try await browser.wait(for: "document.querySelectorAll('tbody tr').length > 1")
                try await browser.holdResponses(to: "\"locale\"")
                try await browser.fill("By", "locale")
                try await browser.waitForHeldResponse()
                try await browser.fill("By", "timeZone")
                try await browser.wait(for: "document.querySelector('thead th')?.textContent === 'Time zone'")
                try await browser.releaseResponses(failing: failing)
                #expect(try await browser.text("thead th") == "Time zone")
                #expect(try await browser.run("return document.querySelector('.offline')") == .null)
            }
        }

        /// Four phones got the message `spring`. Three pushes were delivered, one of them opened.
        private static func appWithCampaign() async throws -> RegistryApp {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for phone in 1...4 { _ = try await app.put("phone-\(phone)") }
            _ = try await app.send("PUT", "/messages/spring", ["title": "Spring <b>"], by: .role(.sender))
            let rows = try await app.send(
                "POST", "/audience/export", ["filter": [:], "message": "spring"], by: .role(.sender))
            let receipts = try rows.text.split(separator: "\n").map { try JSON(parsing: $0.utf8)["receipt"] }
            try #require(receipts.count == 4)
            _ = try await app.registry.send(
                "POST", "/v1/receipts",
                [
                    "receipts": [
                        ["receipt": receipts[0], "event": "delivered"], ["receipt": receipts[1], "event": "opened"],
                        ["receipt": receipts[2], "event": "delivered"],
                    ]
                ], key: nil)
            return app
        }
    }
}
