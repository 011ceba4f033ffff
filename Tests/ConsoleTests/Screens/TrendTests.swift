import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The audience on past days.
    @Suite("Trend")
    struct TrendTests {
        @Test func line_hasAGapWhereARecordIsMissing_andNoPointOfIt() async throws {
            try await Console.shared.visit("trend") { browser, _ in
                try await browser.wait(for: "document.querySelector('.trend-line')")
                // 30 days: of the fleet's records these are 19, a gap of three days, and 7.
                let shape = """
                    const path = document.querySelector('.trend-line').getAttribute('d');
                    const count = (selector) => document.querySelectorAll(selector).length;
                    return [path.match(/M/g).length, path.match(/[ML]/g).length, count('.trend-dot'),
                      count('details tbody tr')];
                    """
                #expect(try await browser.run(shape) == [2, 26, 26, 26])
                try await browser.fill("Period", "90")
                try await browser.wait(for: "document.querySelectorAll('.trend-dot').length === 36")
                #expect(try await browser.run(shape) == [2, 36, 36, 36])
                try await browser.fill("Period", "365")
                try await browser.wait(for: "document.querySelectorAll('.trend-dot').length === 4")
                // Weeks count back from yesterday: 1 day ago has no record, 8 and 15 have, 22 has none, 29 and 36 have.
                #expect(try await browser.run(shape) == [2, 4, 4, 4])
            }
        }

        @Test func counts_areThoseOfTheAudience() async throws {
            try await Console.shared.visit("audience") { browser, app in
                try await browser.edit(["locale": "de"])
                try await browser.wait(for: "!document.querySelector('.figures.stale')")
                try await Console.shared.show("trend", in: browser)
                let day = try await browser.run(
                    "return new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10)")
                for include in ["reachable", "active"] {
                    let body: JSON = ["filter": ["locale": "de"], "include": .string(include), "asOf": day]
                    let count = try await app.count(body)
                    try await browser.choose(include, in: ".audience-line select")
                    try await browser.wait(
                        for: "document.querySelector('details tbody td')?.textContent === '\(count)'")
                }
            }
        }

        @Test(arguments: [
            ("en-US", "The night job records the counts"), ("de-DE", "Die Bereinigung zeichnet"),
        ])
        func appWithoutARecord_hasASentence(language: String, sentence: String) async throws {
            let console = try Console.shared
            try await console.visit("trend", of: console.empty, look: Browser.Look(language: language)) { browser, _ in
                try await browser.wait(forText: sentence)
                #expect(try await browser.run("return document.querySelector('.chart')") == .null)
            }
        }

        @Test(arguments: [
            ("en-US", "They do not have App version and Carrier."),
            ("de-DE", "Sie enthalten nicht: App-Version und Mobilfunkanbieter."),
        ])
        func fieldsThatNoRecordHas_areNamed(language: String, sentence: String) async throws {
            try await Console.shared.visit("audience", look: Browser.Look(language: language), expecting: ["400"]) {
                browser, _ in
                try await browser.edit(["carrier": "x", "appVersion": "1"])
                try await browser.wait(for: "!document.querySelector('.figures.stale')")
                try await Console.shared.show("trend", in: browser)
                let shown = try await browser.text("trend-screen .panel")
                #expect(shown.contains(sentence), "\(shown)")
                try await browser.expectNoViolations("a refusal")
            }
        }

        @Test(arguments: [false, true])
        func trend_staysThatOfTheNewestPeriod(failing: Bool) async throws {
            try await Console.shared.visit("trend") { browser, _ in
                try await browser.wait(for: "document.querySelector('.trend-line')")
                try await browser.holdResponses(to: "\"P1W\"")
                try await browser.fill("Period", "365")
                try await browser.waitForHeldResponse()
                try await browser.fill("Period", "90")
                try await browser.wait(for: "document.querySelectorAll('.trend-dot').length === 36")
                try await browser.releaseResponses(failing: failing)
                #expect(try await browser.run("return document.querySelectorAll('.trend-dot, .offline').length") == 36)
            }
        }

        @Test func period_isChosenByKeyboard() async throws {
            try await Console.shared.visit("trend") { browser, _ in
                try await browser.wait(for: "document.querySelector('.trend-line')")
                try await browser.tab(to: ".card.row select")
                try await browser.press(.down)
                try await browser.wait(for: "document.querySelectorAll('.trend-dot').length === 36")
                try await browser.tab(to: ".chart-frame")
                try await browser.tab(to: "section select")
            }
        }

        @Test func changesOfThePermission_areByVersion_theLargestFirst() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            func register(_ id: String, _ version: String, _ status: String) async throws {
                var device = SampleRegistration.device(id)
                device["systemVersion"] = .string(version)
                let settings = SampleRegistration.settings(authorizationStatus: status)
                _ = try await app.put(id, SampleRegistration.make(id, settings: settings, device: device), as: "user")
            }
            for id in ["a", "b"] { try await register(id, "26.1", "authorized") }
            try await register("c", "17.2", "denied")
            try await app.recordCounts(daysAgo: [4, 3])
            for id in ["a", "b"] { try await register(id, "26.1", "denied") }
            try await register("d", "18.7", "provisional")
            try await app.recordCounts(daysAgo: [2])
            try await Console.shared.visit("trend", of: app) { browser, _ in
                try await browser.wait(for: "document.querySelector('.trend-line')")
                try await browser.wait(for: "document.querySelectorAll('section tbody tr').length === 2")
                #expect(
                    try await browser.rows("section tbody tr") == [["iOS 26.1", "-2", "+2"], ["iOS 18.7", "+1", "0"]])
                try await browser.expectNoViolations("changes")
                // The day before is like the one before that.
                let day = try await browser.run("return document.querySelectorAll('section option')[1].value")
                try await browser.fill("Day", day)
                try await browser.wait(forText: "Nothing has changed.")
            }
        }

        /// A breakdown has at most 1,000 groups. What one of two leaves out has not changed from nothing.
        @Test func groupsThatABreakdownLeavesOut_areNotCompared() async throws {
            let found = try await Console.shared.evaluate(
                """
                const {permissionChanges} = await module('screens/trend.js');
                const group = (osVersion, authorizationStatus, count) =>
                  ({systemName: 'iOS', osVersion, authorizationStatus, count});
                const before = {groups: [group('1', 'denied', 9), group('2', 'ephemeral', 3)], rest: {groups: 0}};
                const after = {groups: [group('1', 'denied', 5), group('3', 'denied', 4)], rest: {groups: 0}};
                const changes = (...pair) => permissionChanges(...pair).map((row) =>
                  [row.version, row.allowed, row.denied]);
                return [changes(before, after), changes(before, {...after, rest: {groups: 2}}),
                  changes({...before, rest: {groups: 1}}, after)];
                """)
            #expect(
                found == [
                    [["1", 0, -4], ["3", 0, 4], ["2", -3, 0]], [["1", 0, -4], ["3", 0, 4]],
                    [["1", 0, -4], ["2", -3, 0]],
                ])
        }
    }
}
