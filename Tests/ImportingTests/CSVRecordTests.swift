import Foundation
import PushRegistry
import Testing

@testable import Importing

@Suite("CSV is parsed by RFC 4180, wherever the input is split")
struct CSVRecordTests {
    /// The records of a text with the lines they begin on; a fault is its code.
    private func read(_ text: String) throws -> [String] {
        var records = RecordCutter(TextBytes(text))
        var found: [String] = []
        while let (line, record) = try records.next({ bytes, isEnd throws(ImportFaults) in
            try CSVRecord(bytes, isEnd: isEnd).map {
                RecordCutter.Cut(
                    content: $0.isBlank ? nil : $0.fields, byteCount: $0.byteCount, lineCount: $0.lineCount)
            }
        }) {
            switch record {
            case .success(let fields): found.append("\(line): " + fields.map { $0 ?? "nil" }.joined(separator: "|"))
            case .failure(let faults): found.append("\(line): ! \(faults.faults[0].reason.code)")
            }
        }
        return found
    }

    @Test(arguments: [
        ("a,b,c\r\nd,e,f\r\n", ["1: a|b|c", "2: d|e|f"]),
        ("a,b,c\nd,e,f", ["1: a|b|c", "2: d|e|f"]),
        ("a,,\"\"\r\n", ["1: a|nil|"]),
        ("\"a,b\",\"c\"\"d\",\"\"\"\"\r\n", ["1: a,b|c\"d|\""]),
        ("\"a\r\nb\",c\r\nd,e\r\n", ["1: a\r\nb|c", "3: d|e"]),
        ("\r\n\na\r\n", ["3: a"]),
        (",\r\n", ["1: nil|nil"]),
        ("a\rb,c\n", ["1: a\rb|c"]),
        ("\"a\"", ["1: a"]), ("\"a\"\r", ["1: a"]), ("a,", ["1: a|nil"]), ("", []),
        ("a\"b,c\nd,e\n", ["1: ! malformed-csv", "2: d|e"]),
        ("\"a\"b,c\nd,e\n", ["1: ! malformed-csv", "2: d|e"]),
        ("\"a,b\nc,d\n", ["1: ! malformed-csv", "2: c|d"]),
    ])
    func records_followTheStandard(text: String, expected: [String]) throws {
        #expect(try read(text) == expected)
    }

    @Test func records_doNotDepend_onWhereTheInputIsSplit() throws {
        let bytes = Array("\"a\"\"\r\n,\",b,,\"\"\r\nnext".utf8)
        let whole = try #require(try CSVRecord(bytes[...], isEnd: true))
        for end in bytes.indices {
            let cut = try CSVRecord(bytes[..<end], isEnd: false)
            if let cut { #expect(cut.fields == whole.fields && cut.byteCount == whole.byteCount, "\(end)") }
            #expect((cut != nil) == (end >= whole.byteCount), "\(end)")
        }
        #expect(whole.fields == ["a\"\r\n,", "b", nil, ""])
        #expect(whole.lineCount == 2)
    }

    @Test func longRecords_areRejected_andTheNextLineIsParsed() throws {
        let long = String(repeating: "x", count: RecordCutter.recordBytesMax)
        let exact = String(long.dropLast(1))
        #expect(try read("\(long)\na\n").map { $0.prefix(12) } == ["1: ! too-lon", "2: a"])
        #expect(
            try read("\"\(long)\nb,c\n\"\na\n").map { $0.prefix(12) } == [
                "1: ! too-lon", "2: b|c", "3: ! malform", "4: a",
            ])
        #expect(try read("\(exact)\na\n").count == 2)
        #expect(try read("\(exact)\na\n")[0].hasPrefix("1: xxx"))
    }

    @Test func invalidUTF8_isAFault_ofItsLine() throws {
        let bytes: [UInt8] = [0x61, 0xFF, 0x0A]
        #expect(throws: ImportFaults.self) { try CSVRecord(bytes[...], isEnd: true) }
    }
}

/// Bytes in memory, one piece after the other.
final class TextBytes: ByteSource {
    private var pieces: [[UInt8]]

    init(_ text: String) {
        pieces = [Array(text.utf8)].filter { !$0.isEmpty }
    }

    /// - Parameter bytes: of each piece.
    init(_ content: [UInt8], pieceBytes: Int) {
        pieces = stride(from: 0, to: content.count, by: pieceBytes).map {
            Array(content[$0..<min($0 + pieceBytes, content.count)])
        }
    }

    func read() -> [UInt8]? { pieces.isEmpty ? nil : pieces.removeFirst() }
}
