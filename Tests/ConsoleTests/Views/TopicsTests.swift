import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The catalogue of what an app sends pushes about.
    @Suite("Topics")
    struct TopicsTests {
        @Test func topic_isCreated_changedWithItsDifference_andDeleted() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.put("phone")
            try await Console.shared.visit(page: "topics", of: app, as: .marketing) { browser in
                try await browser.wait(forText: "There are no topics yet")
                try await browser.expectNoViolations("no topics")
                try await browser.click("New topic")
                try await browser.expectNoViolations("the form of a topic")
                try await browser.fill("Identifier", "offers")
                try await browser.fill("Name", "Offers <b>")
                try await browser.fill("Category", "Shopping")
                try await browser.click("Continue")
                try await browser.wait(for: "document.querySelector('tbody th')?.textContent.startsWith('Offers <b>')")
                try await browser.wait(for: "document.querySelector('tbody .numeric')?.textContent.startsWith('1')")
                try await browser.expectNoViolations("topics")

                try await browser.click("Edit")
                try await browser.fill("If the user has not chosen", "out")
                try await browser.click("Continue")
                try await browser.wait(forText: "Save this change?")
                let difference = try await browser.rows("dialog tbody tr")
                #expect(difference == [["If the user has not chosen", "subscribed", "not subscribed"]])
                try await browser.expectNoViolations("the difference of a topic")
                try await browser.click("Save")
                try await browser.wait(for: "document.querySelector('tbody .numeric')?.textContent.startsWith('0')")

                try await browser.click("Delete")
                try await browser.wait(forText: "and every choice about it")
                try await browser.run("document.querySelector('dialog button.danger').click()")
                try await browser.wait(forText: "There are no topics yet")
            }
        }

        @Test func subscribers_areCounted_byOneCall() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for phone in ["a", "b"] { _ = try await app.put(phone) }
            for (topic, standard) in [("news", "in"), ("offers", "in"), ("quiet", "out")] {
                _ = try await app.send(
                    "PUT", "/topics/\(topic)", ["name": .string(topic), "default": .string(standard)],
                    by: .role(.marketing))
            }
            try await Console.shared.visit("breakdown", of: app) { browser, _ in
                try await browser.recordRequests()
                try await Console.shared.show("topics", in: browser)
                let counts =
                    "[...document.querySelectorAll('tbody .numeric')].map((each) => parseInt(each.textContent))"
                try await browser.wait(for: "\(counts).every((count) => count >= 0)")
                #expect(try await browser.run("return \(counts)") == [2, 2, 0])
                #expect(try await browser.requests(with: "/audience/") == 1)
            }
        }

        @Test func changeOfSomebodyElse_isShownBeforeSaving() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.send("PUT", "/topics/news", ["name": "News", "default": "in"], by: .role(.marketing))
            try await Console.shared.visit(page: "topics", of: app, as: .marketing) { browser in
                try await browser.click("Edit")
                try await browser.fill("Category", "Reading")
                _ = try await app.send(
                    "PUT", "/topics/news", ["name": "Latest", "default": "in"], by: .role(.marketing))
                try await browser.click("Continue")
                try await browser.wait(forText: "Somebody else has changed this meanwhile")
                #expect(
                    try await browser.rows("dialog tbody tr") == [
                        ["Name", "News", "Latest"], ["Name", "Latest", "News"], ["Category", "nothing", "Reading"],
                    ])
                try await browser.expectNoViolations("the conflict of a topic")
            }
        }

        @Test func reader_seesTopics_butNoWayToChangeThem() async throws {
            try await Console.shared.visit(page: "topics", of: Console.shared.filled, as: .support) { browser in
                try await browser.wait(forText: "Changes need a key with the role marketing or admin.")
                #expect(try await browser.run("return document.querySelectorAll('main button').length") == 0)
                try await browser.expectNoViolations("topics to read")
            }
        }
    }
}
