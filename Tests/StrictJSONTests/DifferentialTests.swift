import Basics
import Foundation
import StrictJSON
import Testing

@Suite("Our reader and Foundation's agree, except where ours is stricter by design")
struct DifferentialTests {
    @Test(arguments: 0..<4 as Range<UInt64>)
    func values_areTheSame_whenTextIsRandom(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let text = Array(RandomJSON.text(&random).utf8)
            let document = try JSONDocument(text)
            #expect(document.faults.isEmpty)
            guard Value(document.root).isComparable else { continue }
            let foundation = try JSONDecoder().decode(Value.self, from: Data(text))
            #expect(Value(document.root) == foundation, "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test(
        "Foundation accepts every text that ours accepts; where only ours refuses, it is stricter by design",
        arguments: 0..<4 as Range<UInt64>)
    func results_areTheSame_whenTextIsMutated(seed: UInt64) {
        var random = SeededGenerator(seed: 1000 + seed)
        for _ in 0..<1500 {
            var text = Array(RandomJSON.text(&random).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) { text = RandomJSON.mutated(text, &random) }
            let ours = try? JSONDocument(text, depthMax: 64)
            let foundation = try? JSONDecoder().decode(Value.self, from: Data(text))
            if let ours, ours.faults.isEmpty, Value(ours.root).isComparable {
                #expect(foundation == Value(ours.root), "\(text)")
            } else if ours == nil {
                #expect(foundation == nil || Self.isStricterByDesign(text), "\(text)")
            }
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func reading_neverCrashes_whateverTheBytes(seed: UInt64) {
        var random = SeededGenerator(seed: 2000 + seed)
        let alphabet = Array("{}[]\",:\\0123-+.eEutrfalsn \u{0}é\u{FF}".utf8)
        for _ in 0..<20_000 {
            let length = Int.random(in: 0..<40, using: &random)
            let bytes = (0..<length).map { _ in
                Bool.random(using: &random)
                    ? alphabet.randomElement(using: &random)! : UInt8.random(in: 0...255, using: &random)
            }
            guard let document = try? JSONDocument(bytes) else { continue }
            _ = Value(document.root)
            _ = document.root.integer()
        }
    }

    /// Foundation accepts a byte order mark, other encodings (guessed from zero bytes), and a comma after the last
    /// element or member.
    private static func isStricterByDesign(_ text: [UInt8]) -> Bool {
        let isMarked = text.starts(with: [0xEF, 0xBB, 0xBF])
        let visible = text.filter { !" \t\r\n".utf8.contains($0) }
        return isMarked || text.contains(0) || visible.contains(Array(",]".utf8)) || visible.contains(Array(",}".utf8))
    }
}

/// A JSON value; strings are compared by scalars, not by canonical equivalence.
enum Value: Equatable, Decodable {
    case object([[UInt8]: Value])
    case array([Value])
    case string([UInt8])
    case number(Double)
    case boolean(Bool)
    case null

    init(_ value: JSONValue) {
        switch value.kind {
        case .object:
            let members = value.object()?.members ?? []
            self = .object(
                Dictionary(
                    members.map { (Array($0.name.utf8), Value($0.value)) }, uniquingKeysWith: { first, _ in first }))
        case .array: self = .array(value.array(elementsMax: .max)?.map(Value.init) ?? [])
        case .string: self = .string(Array((value.string(scalarsMax: .max) ?? "").utf8))
        case .number:
            let double = value.double(in: -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude)
            let hasExponent = value.rawBytes.contains { $0 | 0x20 == UInt8(ascii: "e") }
            self = .number(double == 0 && hasExponent ? .infinity : double ?? .infinity)
        case .boolean: self = .boolean(value.boolean() == true)
        case .null: self = .null
        }
    }

    init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: Name.self) {
            let members = try container.allKeys.map {
                (Array($0.stringValue.utf8), try container.decode(Value.self, forKey: $0))
            }
            self = .object(Dictionary(members, uniquingKeysWith: { first, _ in first }))
            return
        }
        if var container = try? decoder.unkeyedContainer() {
            var elements: [Value] = []
            while !container.isAtEnd { elements.append(try container.decode(Value.self)) }
            self = .array(elements)
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let boolean = try? container.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else {
            self = .string(Array(try container.decode(String.self).utf8))
        }
    }

    /// False if it contains a number that Foundation cannot decode: out of the range of doubles, or zero with an
    /// exponent (`0e3`).
    var isComparable: Bool {
        switch self {
        case .object(let members): members.values.allSatisfy(\.isComparable)
        case .array(let elements): elements.allSatisfy(\.isComparable)
        case .number(let number): number.isFinite
        default: true
        }
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            nil
        }
    }
}
