import Basics
import Foundation
import StrictJSON
import Testing

@Suite("Written JSON reads back unchanged")
struct WriterTests {
    @Test func writer_separatesMembersAndElements() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("installId", "a\"b\\c\n\u{1}\u{7F}é😀")
            writer.member("userId", nil as String?)
            writer.member("generation", Int64.min)
            writer.member("reachable", true)
            writer.member("empty", [])
            writer.name("na" + "me\n")
            writer.null()
            writer.name("list")
            writer.array { writer in
                writer.integer(0)
                writer.double(52.5)
                writer.double(.infinity)
                writer.object { _ in }
                writer.raw("[1]".utf8)
            }
            writer.member("last", false)
        }
        let expected =
            #"{"installId":"a\"b\\c\n\u0001\u007f"# + "é😀"
            + #"","userId":null,"generation":-9223372036854775808,"reachable":true,"empty":[],"name\n":null,"#
            + #""list":[0,52.5,null,{},[1]],"last":false}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test(arguments: [0, 1, -1, 10, 1_234_567_890, Int64.max, Int64.min])
    func integers_areWrittenExactly(value: Int64) {
        var writer = JSONWriter()
        writer.integer(value)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == String(value))
    }

    @Test(arguments: [0, -0.0, 1e21, Double.leastNonzeroMagnitude, 0.1, 1.7976931348623157e308, 52.52, -13.41])
    func doubles_readBackUnchanged(value: Double) throws {
        var writer = JSONWriter()
        writer.double(value)
        #expect(
            try JSONDocument(writer.bytes).root.double(in: -Double.greatestFiniteMagnitude...value.magnitude) == value)
    }

    @Test func strings_readBackUnchanged() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let text = RandomJSON.string(&random)
            var writer = JSONWriter()
            writer.string(text)
            #expect(try JSONDecoder().decode(String.self, from: Data(writer.bytes)) == text)
            if !text.unicodeScalars.contains("\0") {
                #expect(try JSONDocument(writer.bytes).root.string(scalarsMax: .max) == text)
            }
        }
    }
}
