import Basics
import StrictJSON
import Testing

@Suite("The elements of an array are those of the whole document")
struct ElementsTests {
    /// Each element's text and faults, or the faults of the whole text; nil if the text is not an array.
    private typealias Outcome = Result<[String], JSONFaults>?

    private func elements(_ text: [UInt8]) -> Outcome {
        do throws(JSONFaults) {
            guard var elements = try JSONElements(text) else { return nil }
            var found: [String] = []
            while let element = try elements.next() { found.append(Self.description(element)) }
            return .success(found)
        } catch {
            return .failure(error)
        }
    }

    private func elementsOfTheDocument(_ text: [UInt8]) -> Outcome {
        do throws(JSONFaults) {
            guard let array = try JSONDocument(text).root.array(elementsMax: .max) else { return nil }
            var found: [String] = []
            for value in array { found.append(Self.description(try JSONDocument(Array(value.rawBytes)))) }
            return .success(found)
        } catch {
            return .failure(error)
        }
    }

    private static func description(_ document: JSONDocument) -> String {
        "\(String(decoding: document.root.rawBytes, as: UTF8.self)) \(document.faults)"
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func elements_areTheSame_whenTheTextIsRandomOrMutated(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let values = (0..<Int.random(in: 0...4, using: &random)).map { _ in RandomJSON.text(&random) }
            var text = Array("[\(values.joined(separator: ","))]".utf8)
            #expect(elements(text) == elementsOfTheDocument(text))
            text = RandomJSON.mutated(text, &random)
            // Another value is left to a document.
            if let outcome = elements(text) { #expect(outcome == elementsOfTheDocument(text), "\(text)") }
        }
    }

    @Test(arguments: [15, 16]) func depth_countsFromTheWholeText(levels: Int) {
        let inner = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        let text = Array("[\(inner)]".utf8)
        #expect(elements(text) == elementsOfTheDocument(text))
    }

    @Test func skippedElements_areParsed() throws {
        guard var elements = try JSONElements(Array("[1, 2, 3]".utf8)) else { throw CancellationError() }
        #expect(try elements.skip() == true)
        let second = try elements.next()
        #expect(second?.root.integer() == 2)
        #expect(try elements.skip() == true)
        #expect(try elements.skip() == false)
    }
}
