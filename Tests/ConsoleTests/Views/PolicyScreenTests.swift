import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The policy is a form that shows what saving changes.
    @Suite("Policy")
    struct PolicyScreenTests {
        @Test func saving_showsTheDifferenceFirst() async throws {
            try await Self.visit { browser, app in
                try await browser.fill("Grace period", "10")
                try await browser.fill("Allowed origins", "https://a.example\nhttps://b.example")
                try await browser.click("Review the change")
                let rows = try await browser.rows("dialog tbody tr")
                #expect(
                    rows == [
                        ["Grace period", "7 days", "10 days"],
                        ["Allowed origins", "nothing", "https://a.example, https://b.example"],
                    ])
                try await browser.expectNoViolations("the difference")
                #expect(try await Self.policy(of: app)["grace"] == "P7D")
                try await browser.click("Save")
                try await browser.wait(forText: "The policy is saved.")
                let saved = try await Self.policy(of: app)
                #expect(saved["grace"] == "P10D")
                #expect(saved["allowedOrigins"] == ["https://a.example", "https://b.example"])
                // Only the members that changed were sent.
                #expect(saved["retention"] == "P30D")
            }
        }

        @Test func member_isResetToItsDefault() async throws {
            try await Self.visit { browser, app in
                _ = try await app.send("PATCH", "", ["grace": "P3D", "smallestGroup": 7], by: .role(.admin))
                try await browser.show(page: "operations")
                try await browser.show(page: "operations/policy")
                let reset =
                    "[...document.querySelectorAll('.field')].find((field) => "
                    + "field.textContent.startsWith('Grace period')).querySelector('button')"
                try await browser.run(reset + ".click()")
                #expect(try await browser.run("return \(reset).getAttribute('aria-pressed')") == "true")
                try await browser.click("Review the change")
                try await browser.wait(for: "document.querySelector('dialog tbody td:last-child')")
                #expect(try await browser.text("dialog tbody tr") == "Grace period3 daysDefault")
                try await browser.expectNoViolations("a reset")
                try await browser.click("Save")
                try await browser.wait(forText: "The policy is saved.")
                let saved = try await Self.policy(of: app)
                #expect(saved["grace"] == "P7D" && saved["smallestGroup"] == 7)
            }
        }

        @Test func conflict_isShown_andNothingIsOverwritten() async throws {
            try await Self.visit(expecting: ["412"]) { browser, app in
                _ = try await app.send("PATCH", "", ["grace": "P3D"], by: .role(.admin))
                try await browser.fill("Installations that are not active", "90")
                try await browser.click("Review the change")
                try await browser.click("Save")
                try await browser.wait(forText: "Somebody else has changed this meanwhile")
                let rows = try await browser.rows("dialog tbody tr")
                #expect(
                    rows == [
                        ["Grace period", "7 days", "3 days", "–"],
                        ["Installations that are not active", "30 days", "–", "90 days"],
                    ])
                try await browser.expectNoViolations("the conflict")
                #expect(try await Self.policy(of: app)["retention"] == "P30D")

                try await browser.click("Put my changes on top")
                try await browser.click("Review the change")
                try await browser.click("Save")
                try await browser.wait(forText: "The policy is saved.")
                let saved = try await Self.policy(of: app)
                #expect(saved["grace"] == "P3D" && saved["retention"] == "P90D")
            }
        }

        @Test func faults_standBesideTheirMembers() async throws {
            try await Self.visit(expecting: ["400"]) { browser, app in
                try await browser.fill("Allowed origins", "not an origin")
                try await browser.click("Review the change")
                try await browser.click("Save")
                try await browser.wait(for: "document.activeElement.matches('textarea[aria-invalid=true]')")
                try await browser.expectNoViolations("a fault")

                try await browser.fill("Allowed origins", "")
                try await browser.fill("Key set (JSON)", "{")
                try await browser.click("Review the change")
                try await browser.wait(forText: "This is not JSON:")
                #expect(try await Self.policy(of: app)["allowedOrigins"] == [])
            }
        }

        private static func visit(
            expecting: [String] = [], _ body: (Browser, RegistryApp) async throws -> Void
        ) async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            try await Console.shared.visit(page: "operations/policy", of: app, as: .admin, expecting: expecting) {
                try await body($0, app)
            }
        }

        private static func policy(of app: RegistryApp) async throws -> JSON {
            try await app.send("GET", "", by: .role(.admin)).json
        }
    }
}
