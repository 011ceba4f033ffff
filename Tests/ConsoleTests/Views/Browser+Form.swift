import Foundation
import RegistryTestSupport
import Testing

// What a person does with forms: clicks a button by its text, fills a control by its label.

extension Browser {
    /// Clicks the first button or link whose text begins with the words, within the newest dialog if one is open.
    func click(_ words: String) async throws {
        let button =
            "[...(\(Self.scope)).querySelectorAll('button, a, summary')]"
            + ".find((each) => each.textContent.trim().startsWith('\(words)') && !each.disabled)"
        try await wait(for: button)
        try await run(button + ".click()")
    }

    /// Sets a control that has this label, as typing would.
    func fill(_ label: String, _ value: JSON) async throws {
        try await run(
            """
            const [text, value] = arguments;
            const label = [...(\(Self.scope)).querySelectorAll('label')]
              .find((label) => label.textContent.trim().startsWith(text));
            const control = label.control;
            if (control.type === 'checkbox' || control.type === 'radio') {
              if (control.checked !== value) control.click();
            } else {
              control.value = value;
              for (const name of ['input', 'change']) control.dispatchEvent(new Event(name, {bubbles: true}));
            }
            """, .string(label), value)
    }

    /// Chooses a value of the list that a selector finds, or of the one at an index of what it finds.
    func choose(_ value: String, in selector: String, at index: Int = 0) async throws {
        try await run(
            """
            const select = document.querySelectorAll(arguments[1])[arguments[2]];
            select.value = arguments[0];
            select.dispatchEvent(new Event('change'));
            """, .string(value), .string(selector), .integer(Int64(index)))
    }

    /// The texts of all elements that a selector finds.
    func texts(_ selector: String) async throws -> JSON {
        try await run(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", .string(selector))
    }

    /// The texts of the cells of each row that a selector finds.
    func rows(_ selector: String) async throws -> JSON {
        try await run(
            """
            return [...document.querySelectorAll(arguments[0])].map((row) =>
              [...row.children].map((cell) => cell.textContent));
            """, .string(selector))
    }

    /// The filter on Audience, by way of its JSON tab.
    func filter() async throws -> JSON {
        try await run(
            """
            document.querySelector('#tab-json').click();
            const text = document.querySelector('.json textarea').value;
            document.querySelector('#tab-sentences').click();
            return JSON.parse(text);
            """)
    }

    /// Waits until the page, or the open dialog, shows a text.
    func wait(forText text: String) async throws {
        try await wait(for: "(\(Self.scope)).textContent.includes('\(text)')")
    }

    /// Shows a page of a screen, such as `operations/keys`, when it is complete.
    func show(page fragment: String) async throws {
        try await run("location.hash = '#/' + arguments[0]", .string(fragment))
        let screen = fragment.prefix { $0 != "/" }
        try await wait(for: "document.querySelector('\(screen)-screen h1')")
        try await wait(for: "!document.querySelector('main [aria-busy], main .panel.loading')")
    }

    func expectNoViolations(_ what: String) async throws {
        guard Axe.isInstalled else { return }
        for violation in try await Axe.violations(in: self) { Issue.record("\(what): \(violation)") }
    }

    private static let scope = "[...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body"
}

extension Console {
    /// Runs a script that imports modules of the page, as they are in the folder: `await module('core/dom.js')`.
    func evaluate(_ script: String, look: Browser.Look = Browser.Look(), _ arguments: JSON...) async throws -> JSON {
        // The service serves them as one script. A page of a file may import other files.
        try await withBrowser(look) { browser in
            try await browser.open(Self.files.appending(path: "style.css").absoluteString)
            return try await browser.run(
                """
                const module = (path) => import(new URL(path, location.href));
                \(script)
                """, arguments)
        }
    }
}
