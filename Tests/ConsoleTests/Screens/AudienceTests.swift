import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The number on Audience is exact, follows the filter, and is never an older one.
    @Suite("Audience")
    struct AudienceTests {
        private static let settled = "document.querySelector('.figures') && !document.querySelector('.figures.stale')"

        @Test func number_isExact_withItsShareAndTime() async throws {
            try await Console.shared.visit("audience") { browser, app in
                try await browser.edit(["locale": "de", "systemName": "Android"])
                try await browser.wait(for: Self.settled)
                let count = try await app.count(["filter": ["locale": "de", "systemName": "Android"]])
                #expect(try await browser.text("[data-count=reachable]") == "\(count)")
                try await browser.wait(
                    for: "document.querySelector('.share').textContent.includes('of \(Fleet.count)')")
                #expect(try await browser.text(".as-of").contains("as of"))
            }
        }

        @Test func lateResponse_neverReplacesANewerOne() async throws {
            try await Console.shared.visit("audience") { browser, app in
                try await browser.holdResponses(to: "\"ja\"")
                try await browser.edit(["locale": "ja"])
                try await browser.waitForHeldResponse()
                try await browser.edit(["locale": "de"])
                try await browser.wait(for: Self.settled)
                let count = try await app.count(["filter": ["locale": "de"]])
                try await browser.releaseResponses()
                #expect(try await browser.text("[data-count=reachable]") == "\(count)")
            }
        }

        @Test func incompleteSentence_asksNothing() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.wait(for: Self.settled)
                try await browser.recordRequests()
                try await browser.run("document.querySelector('[data-part=add]').click()")
                try await browser.wait(for: "document.querySelector('.numbers [role=status]').textContent !== ''")
                #expect(try await browser.requests(with: "/count ") == 0)
                #expect(try await browser.run("return Boolean(document.querySelector('.figures.stale'))") == true)
            }
        }

        @Test func navigation_startsOneScreen_once() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.wait(for: Self.settled)
                try await browser.recordRequests()
                try await Console.shared.show("breakdown", in: browser)
                try await browser.wait(for: "document.querySelector('.bars')")
                let asked = try await browser.run("return requests.map((each) => each.split(' ')[1].split('/').at(-1))")
                #expect(asked == ["breakdown"])
            }
        }

        @Test func fault_goesToItsSentence() async throws {
            try await Console.shared.visit("audience", expecting: ["400"]) { browser, _ in
                try await browser.edit([
                    "locale": "de", "any": [["osVersion": ["gte": "seventeen"]], ["region": "DE"]],
                ])
                try await browser.wait(for: "document.querySelector('.sentence.faulty')")
                let faulty = try await browser.run(
                    """
                    return [...document.querySelectorAll('.sentence.faulty')].map((sentence) => {
                      const field = sentence.querySelector('[data-part=field]').value;
                      return `${field}: ${sentence.querySelector('.fault').textContent}`;
                    })
                    """)
                #expect(faulty.array.count == 1)
                #expect(faulty[0].string?.hasPrefix("osVersion: This must be a version") == true)
            }
        }

        @Test func zero_namesTheSentenceThatEmptiedIt() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de", "systemName": "Windows", "osVersion": ["gte": "10"]])
                try await browser.wait(for: "document.querySelector('.keeps.culprit')")
                let culprits = try await browser.run(
                    """
                    return [...document.querySelectorAll('.keeps.culprit')].map((keeps) =>
                      keeps.closest('.sentence').querySelector('[data-part=field]').value)
                    """)
                #expect(culprits == ["systemName"])
            }
        }

        /// Half a word leaves nobody; the value that was chosen in the end does, too.
        @Test func sentenceThatEmptiedIt_isMarked_whenItsListCloses() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de", "region": "DE"])
                try await browser.run(
                    """
                    const inputs = document.querySelectorAll('.sentence [role=combobox]');
                    document.querySelectorAll('.chip button')[1].click();
                    inputs[1].focus();
                    inputs[1].click();
                    inputs[1].value = 'FR';
                    inputs[1].dispatchEvent(new Event('input'));
                    """)
                try await browser.wait(
                    for: "!document.querySelector('.figures.stale') && document.querySelector('.keeps')")
                try await browser.wait(
                    for: "[...document.querySelectorAll('.keeps')].some((keeps) => keeps.title === '0')")
                #expect(try await browser.run("return document.querySelector('.keeps.culprit')") == .null)
                try await browser.press(.escape)
                try await browser.wait(for: "document.querySelector('.keeps.culprit')")
            }
        }

        /// Whoever refuses notifications is not reachable, so the count is 0.
        @Test func conditionOnThePermission_saysWhatReachableLeavesOut() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["authorizationStatus": "denied"])
                try await browser.wait(for: "document.querySelector('.sentence .notes:not([hidden])')")
                #expect(try await browser.text(".sentence .notes").contains("count Active"))
                try await Console.shared.show("breakdown", in: browser)
                try await browser.wait(forText: "Nobody is in this audience")
                try await browser.wait(forText: "To see the others, count Active.")
                try await browser.choose("active", in: ".audience-line select")
                try await browser.wait(for: "document.querySelector('.bars')")
                try await browser.wait(forText: "Also counts installations that no push reaches.")
                #expect(try await browser.text("breakdown-screen .row b") == "32 installations")
            }
        }

        @Test func undo_coversEdits_inSentencesAndJSON() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                let fields = "return [...document.querySelectorAll('[data-part=field]')].map((select) => select.value)"
                try await browser.edit(["locale": "de"])
                try await browser.edit(["locale": "de", "region": "DE"])
                #expect(try await browser.run(fields) == ["locale", "region"])
                try await browser.run("document.querySelector('.sentence .tools > button').click()")
                #expect(try await browser.run(fields) == ["region"])
                let press = """
                    const buttons = [...document.querySelectorAll('.heading button')];
                    buttons.find((button) => button.textContent === arguments[0]).click();
                    """
                try await browser.run(press, "Undo")
                #expect(try await browser.run(fields) == ["locale", "region"])
                try await browser.run(press, "Undo")
                #expect(try await browser.run(fields) == [])
                try await browser.run(press, "Redo")
                #expect(try await browser.run(fields) == ["locale", "region"])
            }
        }

        @Test func suggestions_haveCounts_andNotKnown() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["carrier": "Example"])
                try await browser.run("document.querySelector('.sentence [role=combobox]').click()")
                try await browser.wait(for: "document.querySelectorAll('[role=option] .count').length === 2")
                #expect(try await browser.texts("[role=option]") == ["Example96", "not known32"])
                try await browser.run("document.querySelectorAll('[role=option]')[1].click()")
                #expect(
                    try await browser.run("return document.querySelector('[data-part=operator]').value") == "unknown")
            }
        }
    }
}
