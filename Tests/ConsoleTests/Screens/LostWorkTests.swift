import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What a person has made stays: in the address, over a reload, until they say that it may go.
    @Suite("Lost work")
    struct LostWorkTests {
        @Test func link_showsItsFilter_toAnotherPerson() async throws {
            let console = try Console.shared
            let filter: JSON = ["locale": "de", "any": [["region": "DE"], ["carrier": "A & B #1?"]]]
            let link = try await console.visit("audience") { browser, _ in
                try await browser.edit(filter)
                try await browser.wait(for: "location.hash.includes('?f=')")
                return try await browser.run("return location.hash").string ?? ""
            }
            try await console.withBrowser { browser in
                try await browser.open(console.address + link)
                try await console.signInAgain(browser)
                try await browser.wait(for: "document.querySelector('.sentence')")
                #expect(try await browser.filter() == filter)
                // Signing out takes it out of the address, too.
                try await browser.click("Sign out")
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                #expect(try await browser.run("return location.hash") == "#/audience")
            }
        }

        @Test func linkThatCannotBeRead_changesNothing() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de"])
                for query in ["f=%7B", "f=%7B%22colour%22%3A1%7D", "f=%"] {
                    try await browser.run("location.hash = '#/audience?' + arguments[0]", .string(query))
                    try await browser.wait(for: "document.querySelector('.toast.error')")
                    #expect(try await browser.filter() == ["locale": "de"])
                    try await browser.run("document.querySelector('.toast button').click()")
                }
            }
        }

        /// The way back leads to the filter as it is now, not to that of the former step.
        @Test func conditionOfAPicture_isKept_onTheWayBack() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de"])
                try await browser.wait(for: "location.hash.includes('?f=')")
                try await Console.shared.show("breakdown", in: browser)
                try await browser.wait(for: "document.querySelector('.bars button')")
                try await browser.run("document.querySelector('.bars button').click()")
                try await browser.wait(for: "document.querySelectorAll('.bars button').length === 1")
                try await browser.run("history.back()")
                try await browser.wait(for: "document.querySelectorAll('.sentence').length === 2")
                // A link that is opened in the same tab is followed.
                try await browser.run("location.hash = '#/audience?f=%7B%22region%22%3A%22FR%22%7D'")
                try await browser.wait(for: "document.querySelectorAll('.sentence').length === 1")
                #expect(try await browser.filter() == ["region": "FR"])
            }
        }

        @Test func filterThatIsTooLongForALink_isNotCopiedWithoutIt() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                let models = (0..<900).map { JSON.string("model-\($0)") }
                try await browser.edit(["deviceModel": .array(models)])
                try await browser.click("Copy link")
                try await browser.wait(forText: "The filter is too long for a link.")
            }
        }

        @Test func anotherApp_isNotShownByTheFormersNames() async throws {
            let console = try Console.shared
            try await console.withBrowser { browser in
                try await console.signInAsAdmin(browser)
                try await browser.run("location.hash = '#/messages/spring'")
                try await browser.wait(for: "document.querySelector('messages-screen')")
                try await browser.run(
                    """
                    const select = document.querySelector('header.top select');
                    select.value = [...select.options].find((option) => !option.selected).value;
                    select.dispatchEvent(new Event('change'));
                    """)
                try await browser.wait(for: "location.hash === '#/messages'")
            }
        }

        @Test func formThatIsNotSaved_isNotLeftUnasked() async throws {
            let console = try Console.shared
            try await console.visit(page: "operations/policy", of: console.filled, as: .admin) { browser in
                try await browser.run("window.asked = 0; window.confirm = () => (asked += 1, false)")
                #expect(try await !Self.isHeld(browser))
                try await browser.fill("Grace period", "11")
                #expect(try await Self.isHeld(browser))
                try await browser.run("location.hash = '#/waves'")
                try await browser.wait(for: "asked === 1")
                #expect(try await browser.run("return location.hash") == "#/operations/policy")
                #expect(try await browser.run("return Boolean(document.querySelector('operations-screen'))") == true)
                try await browser.click("Discard")
                #expect(try await !Self.isHeld(browser))
            }
        }

        @Test func undoInAText_isTheBrowsersOwn() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de"])
                try await browser.run("document.querySelector('#tab-json').click()")
                let undo = """
                    return document.querySelector(arguments[0]).dispatchEvent(
                      new KeyboardEvent('keydown', {key: 'z', ctrlKey: true, bubbles: true, cancelable: true}));
                    """
                #expect(try await browser.run(undo, ".json textarea") == true)
                #expect(try await browser.filter() == ["locale": "de"])
                #expect(try await browser.run(undo, "#tab-json") == false)
                #expect(try await browser.filter() == [:])
            }
        }

        @Test func nameOfAValue_meansTheValue_alsoWithTab() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["language": "fr"])
                try await browser.run("document.querySelector('.chip button').click()")
                try await browser.run("document.querySelector('.sentence [role=combobox]').click()")
                try await browser.wait(for: "document.querySelector('[role=option] .count')")
                try await browser.type("german")
                try await browser.press(.tab)
                #expect(try await browser.filter() == ["language": "de"])
            }
        }

        @Test func exactSuggestion_isTheFirst() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["region": "FR"])
                try await browser.run("document.querySelector('.chip button').click()")
                try await browser.run("document.querySelector('.sentence [role=combobox]').click()")
                try await browser.wait(for: "document.querySelector('[role=option] .count')")
                // Also a part of "Austria", "United States" and "Germany", in this order.
                try await browser.type("at")
                try await browser.wait(for: "document.querySelector('[role=option]').textContent.startsWith('Austria')")
            }
        }

        @Test func offset_isATimeOfUTC_neverSeconds() async throws {
            try await Console.shared.visit("audience") { browser, _ in
                try await browser.edit(["utcOffset": ["gte": -36_000]])
                let input = "return document.querySelector('.sentence [role=combobox]').value"
                #expect(try await browser.run(input) == "UTC−10:00")
                try await browser.run("document.querySelector('[data-part=add]').click()")
                #expect(try await browser.run(input) == "UTC−10:00")
            }
        }

        @Test func segmentNames_thatComeLate_canBeChosen() async throws {
            try await Console.shared.visit("breakdown", expecting: ["audience/count"]) { browser, _ in
                try await browser.run(
                    """
                    const real = window.fetch;
                    window.fetch = async (url, options) => {
                      const response = await real(url, options);
                      window.isRefused ||= response.status === 400;
                      if (String(url).includes('/segments')) await new Promise((release) => (window.release = release));
                      return response;
                    };
                    """)
                try await Console.shared.show("audience", in: browser)
                try await browser.edit(["segment": "none-such"])
                try await browser.wait(for: "window.release")
                try await browser.run("release()")
                try await browser.wait(
                    for: "document.querySelector('[data-part=segment]').textContent.includes('germans')")
                #expect(
                    try await browser.run("return document.querySelector('[data-part=segment]').value") == "none-such")
                // The count of an unknown segment. Its fault must not come later, in the next test.
                try await browser.wait(for: "window.isRefused")
            }
        }

        @Test func download_leavesThePageAlone_alsoIfItIsRefused() async throws {
            try await Console.shared.visit("export") { browser, _ in
                try await browser.run("HTMLFormElement.prototype.submit = function () { window.target = this.target }")
                try await browser.wait(for: "document.querySelector('export-screen .primary:enabled')")
                try await browser.run("document.querySelector('export-screen .primary').focus()")
                try await browser.press(.enter)
                try await browser.wait(for: "window.target === '_blank'")
            }
        }

        /// Whether the browser asks before it closes the page.
        private static func isHeld(_ browser: Browser) async throws -> Bool {
            try await browser.run("return !dispatchEvent(new Event('beforeunload', {cancelable: true}))") == true
        }
    }
}
