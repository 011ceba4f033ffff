import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// When to send, so that a push arrives at the same local time everywhere.
    @Suite("Waves")
    struct WavesTests {
        @Test func waves_flagSkippedTimes_pastInstants_andZones() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for (phone, zone, offset) in [("b", "Europe/Berlin", 3_600), ("t", "Asia/Tokyo", 32_400)] {
                var device = SampleRegistration.device(phone)
                device["timeZoneId"] = .string(zone)
                device["timeZoneOffset"] = .integer(Int64(offset))
                _ = try await app.put(phone, SampleRegistration.make(phone, device: device))
            }
            try await Console.shared.visit("waves", of: app) { browser, _ in
                try await Self.plan("02:30", "2099-03-29", in: browser)
                try await browser.wait(forText: "2 installations")
                try await browser.wait(forText: "over this time in Europe/Berlin: the wave is at 03:30.")
                let rows = try await browser.run(
                    """
                    return [...document.querySelectorAll('tbody tr')].map((row) =>
                      [row.querySelector('time'), row.children[1], row.children[3]].map((each) => each.textContent));
                    """)
                #expect(
                    rows == [
                        ["2099-03-28 17:30", "1", "Asia/Tokyo"],
                        ["2099-03-29 01:30", "1", "Europe/Berlin clock jumps to 03:30"],
                    ])
                #expect(try await browser.run("return document.querySelectorAll('.chart rect').length") == 2)
                try await browser.expectNoViolations("waves")

                try await Self.plan("10:00", "2020-01-01", in: browser)
                try await browser.wait(forText: "For 2 installations this time has passed.")
                try await browser.expectNoViolations("past waves")
            }
        }

        @Test func counts_areInSight_onAPhone() async throws {
            try await Console.shared.visit("waves", look: Browser.Look(width: 360)) { browser, _ in
                try await browser.wait(for: "document.querySelector('.table')")
                let hidden = try await browser.run(
                    """
                    const {right} = document.querySelector('.table').getBoundingClientRect();
                    return [...document.querySelectorAll('thead .numeric')]
                      .filter((cell) => cell.getBoundingClientRect().right > right).map((cell) => cell.textContent);
                    """)
                #expect(hidden == [])
            }
        }

        /// As many zones as move their clocks together.
        @Test func warning_namesEveryZone() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            let cities = [
                "Berlin", "Madrid", "Oslo", "Paris", "Rome", "Warsaw", "Vienna", "Prague", "Stockholm", "Zurich",
            ]
            for city in cities {
                var device = SampleRegistration.device(city)
                device["timeZoneId"] = .string("Europe/\(city)")
                device["timeZoneOffset"] = 3_600
                _ = try await app.put(city, SampleRegistration.make(city, device: device))
            }
            try await Console.shared.visit("waves", of: app) { browser, _ in
                try await Self.plan("02:30", "2099-03-29", in: browser)
                try await browser.wait(forText: "over this time in")
                let note = try await browser.text("p.note")
                #expect(cities.filter { !note.contains("Europe/\($0)") } == [])
            }
        }

        @Test func filter_comesFromTheAudience() async throws {
            try await Console.shared.visit("audience") { browser, app in
                try await browser.edit(["locale": "de"])
                try await browser.fill("Breakdown, World, Trend, Export and Waves count:", "all")
                try await browser.show(page: "waves")
                try await browser.wait(forText: "Language and region is German")
                let count = try await app.count(["filter": ["locale": "de"], "include": "all"])
                try await browser.wait(for: "document.querySelector('.number.small')?.textContent === '\(count)'")
                #expect(try await browser.run("return location.hash") == "#/waves")
            }
        }

        @Test func olderPlan_neverReplacesANewerOne() async throws {
            try await Console.shared.visit("waves") { browser, _ in
                try await browser.holdResponses(to: "03:03")
                try await Self.fill("03:03", "2099-01-01", in: browser)
                try await browser.waitForHeldResponse()
                try await Self.plan("04:04", "2099-01-01", in: browser)
                try await browser.wait(forText: ":04")
                try await browser.releaseResponses()
                #expect(try await browser.text("tbody th time").hasSuffix(":04"))
            }
        }

        private static func plan(_ time: String, _ date: String, in browser: Browser) async throws {
            try await fill(time, date, in: browser)
            try await browser.wait(for: "!document.querySelector('main [aria-busy]')")
        }

        private static func fill(_ time: String, _ date: String, in browser: Browser) async throws {
            try await browser.run(
                """
                document.querySelector('input[type=time]').value = arguments[0];
                const day = document.querySelector('input[type=date]');
                day.value = arguments[1];
                day.dispatchEvent(new Event('input', {bubbles: true}));
                """, .string(time), .string(date))
        }
    }
}
