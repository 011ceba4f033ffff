import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The catalogues of all languages have the same texts.
    @Suite("Texts")
    struct TextTests {
        @Test func catalogues_areComplete() async throws {
            let english = try await Self.catalogue("en")
            let german = try await Self.catalogue("de")
            #expect(Set(english.keys).symmetricDifference(german.keys).sorted() == [])
            for (key, text) in english {
                #expect(Self.places(text) == Self.places(german[key] ?? .null), "\(key)")
            }
        }

        @Test func everyText_thatTheCodeNames_exists() async throws {
            let english = try await Self.catalogue("en")
            let named = try Self.sources().flatMap { source in
                source.matches(of: /\b(?:t|parts)\('([a-zA-Z0-9.]+)'/).map { String($0.1) }
            }
            #expect(!named.isEmpty)
            #expect(Set(named).subtracting(english.keys).sorted() == [])
        }

        /// All sections of a language, as the page reads them.
        private static func catalogue(_ language: String) async throws -> [String: JSON] {
            let folder = Console.files.appending(path: "text/\(language)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
            return try await Console.shared.withBrowser { browser in
                try await browser.open(Console.shared.address)
                return try await browser.run(
                    """
                    const root = document.querySelector('script[type=module]').src;
                    const sections = await Promise.all(arguments[0].map((name) =>
                      import(new URL(`./text/${arguments[1]}/${name}`, root))));
                    return Object.assign({}, ...sections.map((section) => section.default));
                    """, .array(names.map { .string($0) }), .string(language)
                ).object
            }
        }

        /// The names of the values in a text, and its forms.
        private static func places(_ text: JSON) -> [String] {
            let forms = text.object.isEmpty ? ["": text] : text.object
            return forms.flatMap { form, text in
                [form] + (text.string ?? "").matches(of: /\{(\w+)\}/).map { String($0.1) }.sorted()
            }.sorted()
        }

        private static func sources() throws -> [String] {
            let files = FileManager.default.enumerator(at: Console.files, includingPropertiesForKeys: nil)
            return try (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "js" }.map {
                // Comments show examples.
                try String(contentsOf: $0, encoding: .utf8).replacing(/(?m)^ *\/\/.*$/, with: "")
            }
        }
    }
}
