import Basics
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Both libraries encode what another one decodes")
struct GzipEncoderTests {
    enum Library: CaseIterable { case zlib, isal }

    private func encoder(_ library: Library) throws -> GzipEncoder {
        switch library {
        case .zlib: return try GzipEncoder(.least, with: nil)
        case .isal:
            let isal = try #require(IsalLibrary.shared, "install the package libisal2")
            return try GzipEncoder(.least, with: isal)
        }
    }

    @Test(arguments: Library.allCases)
    func output_decompressesToTheInput_whateverItsPieces(library: Library) throws {
        var random = SeededGenerator(seed: 7)
        for round in 0..<60 {
            var encoder = try encoder(library)
            var (input, output): ([UInt8], [UInt8]) = ([], [])
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                let count = Int.random(in: 0...1, using: &random) * Int.random(in: 0...70_000, using: &random)
                // Few or many different bytes: they compress well, or not at all.
                let last: UInt8 = round.isMultiple(of: 2) ? 255 : 3
                let piece = (0..<count).map { _ in UInt8.random(in: 0...last, using: &random) }
                let pauses = Bool.random(using: &random)
                input += piece
                output += try encoder.encode(piece[...], then: pauses ? .pause : .more)
                if pauses { #expect(try Gunzip(output).bytes == input) }
            }
            output += try encoder.encode([], then: .end)
            let body = try Gunzip(output)
            #expect(body.isComplete && body.bytes == input)
        }
    }

    @Test(arguments: Library.allCases)
    func rowsOfTokens_shrink(library: Library) throws {
        var random = SeededGenerator(seed: 1)
        let row = { (number: Int) -> String in
            let token = (0..<32).map { _ in String(UInt8.random(in: 16...255, using: &random), radix: 16) }.joined()
            return #"{"token":"\#(token)","provider":"apns","installId":"phone-\#(number)","generation":1}"# + "\n"
        }
        let rows = Array((0..<5_000).map(row).joined().utf8)
        var encoder = try encoder(library)
        let output = try encoder.encode(rows[...], then: .end)
        #expect(Double(output.count) < 0.55 * Double(rows.count))
    }
}
