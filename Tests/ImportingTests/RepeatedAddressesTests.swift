import Testing

@testable import Importing

@Suite("An import reads its rows twice only if an address may occur twice")
struct RepeatedAddressesTests {
    private static let (first, second) = ("dQw4w9WgXcQ-_012345678", "eQw4w9WgXcQ-_012345678")

    private static func found(in files: [String], pieceBytes: Int) throws -> Bool {
        var addresses = RepeatedAddresses()
        for file in files {
            let bytes = Array(file.utf8)
            for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
                try addresses.add(Array(bytes[start...].prefix(pieceBytes)))
            }
            try addresses.endPart()
        }
        return try addresses.found()
    }

    @Test(arguments: [
        ([#"{"token":"\#(first)"}"# + "\n" + #"{"token":"\#(first):APA91b"}"#], true),
        ([#"{"token":"\#(first)"}"# + "\n" + #"{"token":"\#(second):APA91b"}"#], false),
        (["a,\(first)", "b,\(first)\n"], true), (["\(first):a\n\(second):a\n\(first)"], true),
        // No ids: another first digit, too long, too short.
        (["a\(first)\na\(first)\n", "0123456789012345678901 0123456789012345678901", "d d"], false),
        (["d\(first.dropLast()),d\(first.dropLast(2))"], false),
        // JSON can hide a digit; another escape hides none.
        ([#"{"token":"\u0064\#(first.dropFirst())"}"#], true), ([#"{"token":"\#(first)","a":"\n\"u"}"#], false),
    ])
    func repetition_isFound_whereverTheInputIsSplit(files: [String], isRepeated: Bool) throws {
        for pieceBytes in [1, 2, 7, 22, 23, 24, 1_000] {
            #expect(try Self.found(in: files, pieceBytes: pieceBytes) == isRepeated, "pieces of \(pieceBytes) bytes")
        }
    }

    @Test func repetition_isFound_amongMoreIDsThanFitIntoMemory() throws {
        let digits = Array("ABCDEFGHIJ")
        func id(_ number: Int) -> String {
            let text = String(number).map { digits[$0.wholeNumberValue ?? 0] }
            return "d" + String(repeating: "z", count: 21 - text.count) + String(text) + "\n"
        }
        let file = (0..<320_000).map(id).joined()
        #expect(try !Self.found(in: [file], pieceBytes: 100_000))
        #expect(try Self.found(in: [file, id(17)], pieceBytes: 100_000))
    }
}
