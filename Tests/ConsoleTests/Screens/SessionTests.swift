import RegistryTestSupport
import Testing

extension ConsoleTests {
    @Suite("Sign-in")
    struct SignInTests {
        @Test func revokedKey_endsItsSession_withTheNextCall() async throws {
            let console = try Console.shared
            let key = try await console.newKey(of: console.filled, roles: ["marketing"])
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await console.signIn(browser, key: key.text)
                try await browser.wait(for: "document.querySelector('.share')?.textContent.includes('of')")
                _ = try await console.registry.send("DELETE", console.filled.path + "/keys/\(key.id)")
                try await browser.edit(["locale": "de"])
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                #expect(try await browser.run("return document.querySelector('nav')") == .null)
            }
        }

        @Test func wrongKey_isRefused_withASentence() async throws {
            let console = try Console.shared
            try await console.withBrowser(expecting: ["401"]) { browser in
                try await browser.open(console.address)
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                try await browser.run(
                    """
                    document.querySelector('#signin-app').value = 'com.example.none';
                    document.querySelector('#signin-key').value = 'prk_0_0';
                    document.querySelector('signin-screen form').requestSubmit();
                    """)
                try await browser.wait(for: "document.querySelector('#signin-fault').textContent !== ''")
                try await browser.wait(for: "document.activeElement.matches('#signin-key')")
            }
        }

        @Test func signOut_showsTheSignIn_andKeepsNothing() async throws {
            let console = try Console.shared
            try await console.visit("audience") { browser, _ in
                try await browser.edit(["locale": "de"])
                try await browser.run("document.querySelector('header.top button').click()")
                try await browser.wait(for: "document.querySelector('signin-screen form')")
                let stored = try await browser.run("return JSON.stringify([{...localStorage}, {...sessionStorage}])")
                #expect(stored.string?.contains("prk_") == false)
                try await console.signIn(browser)
                try await browser.wait(for: "document.querySelector('audience-screen')")
                #expect(try await browser.run("return document.querySelectorAll('.sentence').length") == 0)
            }
        }
    }
}
