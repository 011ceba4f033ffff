import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// The catalogues of all languages have the same texts.
    @Suite("Texts")
    struct ScreenTextTests {
        @Test func everyText_isInEveryLanguage() async throws {
            for (key, texts) in try await Self.catalogue() where texts.string == nil {
                #expect(texts.array.count == 2, "\(key)")
                #expect(Set(texts.array.map(Self.places)).count == 1, "\(key)")
            }
        }

        @Test func everyText_thatTheCodeNames_exists() async throws {
            let catalogue = try await Self.catalogue()
            let named = try Self.sources().flatMap { source in
                source.matches(of: /\b(?:t|parts)\('([a-zA-Z0-9.]+)'/).map { String($0.1) }
            }
            #expect(!named.isEmpty)
            #expect(Set(named).subtracting(catalogue.keys).sorted() == [])
        }

        /// `[English, German]` of each text, or one text for both.
        private static func catalogue() async throws -> [String: JSON] {
            try await Console.shared.evaluate("return (await module('core/text.js')).catalogue;").object
        }

        /// The names of the values in a text. The forms of a plural may differ: German "1 Zeile" and "2 Zeilen".
        private static func places(_ text: JSON) -> Set<String> {
            let forms = text.array.isEmpty ? [text] : text.array
            return Set(forms.flatMap { ($0.string ?? "").matches(of: /\{(\w+)\}/).map { String($0.1) } })
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
