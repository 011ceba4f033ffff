import RegistryTestSupport
import Testing

@testable import ConsoleFiles

extension ConsoleTests {
    /// The service gives the variables of the scripts other names.
    @Suite("Packing")
    struct PackingTests {
        @Test func namesOfTheBrowser_areKept() async throws {
            var names: Set<String> = []
            for file in ConsoleFile.all where file.path.hasSuffix(".js") {
                let module = try ScriptModule(file)
                for (token, use) in zip(module.tokens, NameUses(module.tokens).uses) where use == .variable {
                    names.insert(token.text)
                }
            }
            let ofBrowser = try await Console.shared.withBrowser { browser in
                try await browser.open(Console.shared.address)
                return try await browser.run(
                    "return arguments[0].filter((name) => name in globalThis)",
                    .array(names.sorted().map { .string($0) }))
            }
            let known = ScriptVocabulary.platform
            #expect(ofBrowser.array.compactMap(\.string).filter { !known.contains($0) } == [])
        }
    }
}
