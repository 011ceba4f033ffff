import PostgresClient
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What an operator sees: health, the night job, apps and keys.
    @Suite("Operations")
    struct OperationsTests {
        @Test func newKey_showsItsSecretOnce_andEndsWhenItIsRevoked() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            try await Console.shared.visit(page: "operations/keys", of: app, as: .admin) { browser in
                try await browser.click("New key")
                try await browser.expectNoViolations("the form of a key")
                try await browser.fill("Name", "reports <b>")
                try await browser.fill("marketing", true)
                try await browser.run("document.querySelector('dialog form').requestSubmit()")
                try await browser.wait(for: "document.querySelector('input.secret')")
                try await browser.expectNoViolations("a new key")
                let secret = try #require(
                    try await browser.run("return document.querySelector('input.secret').value").string)
                #expect(try await app.send("GET", "/audience/count", by: .text(secret)).status == 200)

                try await browser.click("I have stored it")
                try await browser.wait(for: "!document.querySelector('dialog')")
                try await browser.wait(forText: "reports <b>")
                let everything = try await browser.run(
                    """
                    return document.documentElement.outerHTML + JSON.stringify([localStorage, sessionStorage]) +
                      [...document.querySelectorAll('input')].map((each) => each.value);
                    """)
                #expect(everything.string?.contains(secret) == false)

                try await browser.run(
                    """
                    [...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes('reports'))
                      .querySelector('button').click();
                    """)
                try await browser.wait(for: "document.querySelector('dialog')")
                try await browser.expectNoViolations("the question before a revocation")
                try await browser.click("Revoke")
                try await browser.wait(forText: "1 revoked key")
                #expect(try await app.send("GET", "/audience/count", by: .text(secret)).status == 401)
            }
        }

        @Test func runs_showNumbers_heldBackApps_andWhatAnUndoRestores() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.database.rows(
                """
                WITH run AS (
                    INSERT INTO cleanup_run (started_at, finished_at, outcome, process, max_share)
                    VALUES (now() - interval '3 days', now() - interval '3 days', 'refused', 'test', 0.2) RETURNING id
                )
                INSERT INTO cleanup_result (run_id, app_id, active, leaving, refused, stale)
                SELECT run.id, app.id, 1000, 613, true, 7 FROM run, app WHERE identifier = \(app.id)
                """)
            try await Console.shared.visit(page: "operations/runs", of: app, as: .admin) { browser in
                try await browser.wait(forText: "613 of 1,000 active installations (61.3%) would have been retired")
                try await browser.wait(forText: "the limit was 20.0%")
                try await browser.wait(forText: "push-registry cleanup --app \(app.id) --max-share 62%")
                try await browser.wait(forText: "An undo restores at most 7")
                try await browser.wait(forText: "It should run every night.")
                try await browser.expectNoViolations("runs")
                try await browser.devTools(
                    "Emulation.setDeviceMetricsOverride",
                    ["width": 320, "height": 800, "deviceScaleFactor": 1, "mobile": false])
                #expect(try await browser.run("return document.documentElement.scrollWidth - innerWidth") == 0)
            }
        }

        @Test func health_showsReadiness_andTheRatesOfTheProcess() async throws {
            try await Console.shared.withBrowser { browser in
                try await Console.shared.signIn(browser, key: RunningService.adminKey)
                try await browser.show(page: "operations/health")
                try await browser.wait(forText: "Nothing hinders the service.")
                try await browser.wait(for: "document.querySelector('.spark')")
                try await browser.wait(forText: "Requests 2xx")
                try await browser.expectNoViolations("health")
            }
        }

        /// Nine phones with VoIP tokens, of which five are reported as dead: one token and one phone are believed.
        @Test(arguments: ["en-US", "de-DE"])
        func heldVerdicts_areShownWithTheirNumber_restoredAndReleased(language: String) async throws {
            let app = try await RegistryApp.make(
                in: Console.shared.registry, policy: ["feedbackBreaker": ["count": 0, "share": 0.15]])
            for number in 0..<9 {
                var body = SampleRegistration.make("phone-\(number)")
                body["tokens"] = [["kind": "voip", "token": .string(SampleRegistration.token("voip \(number)"))]]
                _ = try await app.put("phone-\(number)", body)
            }
            func report() async throws {
                let items = (0..<5).flatMap { number -> [JSON] in
                    [
                        ["installId": .string("phone-\(number)"), "kind": "voip", "reason": "Unregistered"],
                        ["installId": .string("phone-\(number)"), "reason": "Unregistered"],
                    ]
                }
                _ = try await app.send("POST", "/feedback", .array(items), by: .role(.sender))
            }
            try await report()
            let isGerman = language.hasPrefix("de")
            let words = isGerman ? ["Wiederherstellen", "Zählen", "Freigeben"] : ["Restore", "Count", "Release"]
            try await Console.shared.visit(
                page: "operations/health", of: app, as: .admin, look: Browser.Look(language: language)
            ) { browser in
                try await browser.wait(for: "document.querySelectorAll('[data-provider]').length === 1")
                let held = try await app.send(
                    "POST", "/feedback/release", ["provider": "apns", "dryRun": true], by: .role(.admin))
                let count = try #require(held.json["released"].integer)
                #expect(count > 2)
                try await browser.wait(
                    forText: isGerman ? "Zurückgehaltene Installationen" : "Held installations")
                try await browser.wait(forText: ": \(count)")
                try await browser.expectNoViolations("held verdicts")

                try await browser.click(words[0])
                try await browser.expectNoViolations("the beginning of an outage")
                try await browser.fill(isGerman ? "Beginn der" : "The outage", "2026-01-01T00:00")
                try await browser.click(words[1])
                try await browser.wait(forText: isGerman ? "wieder aktiv." : "active again.")
                try await browser.click(words[0])
                try await browser.wait(for: "!document.querySelector('dialog, [data-provider]')")
                #expect(try await app.get("phone-4").json["state"] == "active")

                try await report()
                try await browser.show(page: "operations/runs")
                try await browser.show(page: "operations/health")
                try await browser.wait(for: "document.querySelector('[data-provider]')")
                try await browser.resize(width: 320)
                #expect(try await browser.run("return document.documentElement.scrollWidth - innerWidth") == 0)
                try await browser.click(words[2])
                try await browser.expectNoViolations("the question before a release")
                try await browser.click(words[2])
                try await browser.wait(for: "!document.querySelector('dialog, [data-provider]')")
                #expect(try await app.get("phone-4").json["state"] == "unregistered")
            }
        }

        /// A hundred entries are a page.
        @Test(arguments: ["en-US", "de-DE"])
        func changes_sayWhoChangedWhat_pageByPage(language: String) async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            for number in 0..<101 {
                _ = try await app.send("PUT", "/segments/s\(number)", ["filter": [:]], by: .role(.marketing))
            }
            _ = try await app.send(
                "POST", "/keys", ["name": "<b>Ada</b>", "roles": ["admin"]], by: .text(RunningService.adminKey))
            _ = try await app.send("PATCH", "", ["grace": "P5D", "staleAfter": ["fcm": "P40D"]], by: .role(.admin))
            let isGerman = language.hasPrefix("de")
            try await Console.shared.visit(
                page: "operations/changes", of: app, as: .admin, look: Browser.Look(language: language)
            ) { browser in
                func rows() async throws -> [String] {
                    try await browser.run(
                        "return [...document.querySelectorAll('tbody tr')].map((row) => row.textContent)"
                    ).array.compactMap(\.string)
                }
                let first = try await rows()
                #expect(first.count == 100)
                for text in isGerman
                    ? ["Die Regeln wurden geändert.", "Lange nicht gesehen nach und Schonfrist"]
                    : ["The policy was changed.", "Stale after and Grace period"]
                { #expect(first.first?.contains(text) == true, "\(first.first ?? "")") }
                #expect(first.first?.contains("admin admin:\(app.keyID(.admin))") == true)
                let created = isGerman ? "Der Schlüssel der Verwaltung" : "The admin key"
                #expect(first.dropFirst().first?.contains(created) == true)
                try await browser.expectNoViolations("changes")
                try await browser.click(isGerman ? "Mehr zeigen" : "Show more")
                try await browser.wait(for: "document.querySelectorAll('tbody tr').length === 110")
                #expect(try await rows().last?.contains(isGerman ? "Die App wurde" : "The app was created.") == true)
                try await browser.resize(width: 320)
                #expect(try await browser.run("return document.documentElement.scrollWidth - innerWidth") == 0)
            }
        }

        @Test func adminKey_seesDeletedApps() async throws {
            let app = try await RegistryApp.make(in: Console.shared.registry)
            _ = try await app.registry.send("DELETE", app.path + "?confirm=\(app.id)")
            try await Console.shared.withBrowser { browser in
                try await Console.shared.signIn(browser, key: RunningService.adminKey)
                try await browser.show(page: "operations/changes")
                try await browser.wait(forText: "The app was deleted.")
                try await browser.wait(forText: app.id)
                try await browser.expectNoViolations("changes of no app")
            }
        }

        @Test func adminKey_createsAnApp_andShowsIt() async throws {
            let id = "com.example.created\(UInt64.random(in: 0...UInt64.max))"
            try await Console.shared.withBrowser { browser in
                try await Console.shared.signIn(browser, key: RunningService.adminKey)
                try await browser.show(page: "operations/apps")
                try await browser.expectNoViolations("apps")
                try await browser.click("New app")
                try await browser.fill("App", .string(id))
                try await browser.run("document.querySelector('dialog form').requestSubmit()")
                try await browser.wait(for: "document.querySelector('header.top select').value === '\(id)'")
                try await browser.show(page: "operations/keys")
                try await browser.wait(forText: "No key is valid")
                try await browser.expectNoViolations("no keys")
            }
        }
    }
}
