import Foundation
import PushRegistry
import Testing

@testable import Importing

@Suite("Rows of other systems are found in files of any shape, wherever the input is split")
struct ForeignRowsTests {
    /// The value of a member or column `a` of each row, with its line; a fault is its code.
    private func read(_ text: String, pieceBytes: Int = 7) throws -> [String] {
        let bytes = PeekableBytes(TextBytes(Array(text.utf8), pieceBytes: pieceBytes))
        guard var rows = try ForeignRows(bytes, ElementSplitter(wrappers: ["items"])) else { return ["empty"] }
        var found: [String] = []
        while let (line, row) = try rows.next() {
            switch row {
            case .success(let row): found.append("\(line): \(row.text("a") ?? "nil")")
            case .failure(let faults): found.append("\(line): ! \(faults.faults[0].reason.code)")
            }
        }
        return found + (rows.endsEarly ? ["cut off"] : [])
    }

    @Test(arguments: [
        ("", ["empty"]),
        ("{\"a\":1}\n\n{\"a\":\"x\"}\n", ["1: 1", "3: x"]),
        ("{\"a\":1}\nnonsense\n{\"a\":2}", ["1: 1", "2: ! malformed-json", "3: 2"]),
        ("{\"a\":1}\n{\"a\":2", ["1: 1", "cut off"]),
        ("[{\"a\":\"]}\\\"\"},\n {\"a\":{\"$date\":{\"$numberLong\":\"5\"}}}\n]", ["1: ]}\"", "2: 5"]),
        ("[{\"a\":1},{\"a\"", ["1: 1", "cut off"]),
        ("{\n\"ok\": true, \"items\": [\n{\"a\":1},\n{\"a\":[2,3]}\n], \"next\": \"]}\"}\n", ["3: 1", "4: 2"]),
        ("{\"items\":[{\"a\":1}]}\n{\"items\":[{\"a\":2}]}\n", ["1: 1", "2: 2"]),
        ("{\"items\":[{\"a\":1}]", ["1: 1", "cut off"]),
        ("{\"a\":1,\"items\":[\"b\"]}\n", ["1: 1"]),
        ("{\"items\":[]}\n", []), ("{\n\"items\": [\n]\n}\n{\"items\":[{\"a\":1}]}", ["5: 1"]),
        ("[{\"items\":[{\"a\":1}],\"next\":2},\n{\"items\":[{\"a\":2}]}]", ["1: 1", "2: 2"]),
        ("{\"items\":[{\"a\":1,\"items\":[{\"a\":5}]}]}", ["1: 1"]),
        ("{\n\"a\": 1\n}\n{\n\"a\": 2\n}\n", ["1: 1", "4: 2"]),
        ("b,A,a\n1,,3\n1,2\n", ["2: 3", "3: ! wrong-columns"]),
        ("<R><a>1</a></R>\n<R><a><![CDATA[2\n3]]></a></R>\n<R>\n", ["1: 1", "2: 2\n3", "4: ! malformed-xml"]),
        ("<?xml version=\"1.0\"?>\n<R><a>1</a></R>\n<R><a>2</a", ["2: 1", "cut off"]),
        ("a,b\n1,2\n3", ["2: 1", "cut off"]), ("a,b\n1,2\n3,\"4", ["2: 1", "cut off"]),
        ("a,b\n1,2\n3,", ["2: 1", "3: 3"]),
        (
            "[{\"a\":1},\"x]{\",{\"a\":2},7,[{\"a\":3}],null,{\"a\":4}]",
            ["1: 1", "1: ! wrong-type", "1: 2", "1: ! wrong-type", "1: ! wrong-type", "1: ! wrong-type", "1: 4"]
        ),
        ("{\"items\":[{\"a\":1},true\n,{\"a\":2}],\"b\":3}", ["1: 1", "1: ! wrong-type", "2: 2"]),
        ("[{\"a\":1},\"x", ["1: 1", "cut off"]),
        ("[{\"a\":1},?,{\"a\":2}\n,{\"a\":3}]", ["1: 1", "1: ! malformed-json", "1: 2", "2: 3"]),
        ("<!DOCTYPE x><R><a>1</a></R>\n", ["1: ! document-type"]),
        ("<R><a>1</a><b><![CDATA[\n]]>\n<![CDATA[]]></b></R>\n", ["1: ! malformed-xml", "3: ! malformed-xml"]),
        (
            "<?xml version=\"1.0\"?>\n<feed xmlns=\"x\"><title>t</title>\n<entry><content type=\"application/xml\">"
                + "<R><a>1</a><b><![CDATA[</content>\n]]></b></R></content></entry>\n<entry><content>\n<R>\n<a>2</a>"
                + "</R>\n</content></entry></feed>\n<feed><entry><content><R></content></entry>\n</feed>",
            ["3: 1", "5: 2", "9: ! malformed-xml"]
        ),
        ("<entry><content><R><a>1</a></R></content></entry>", ["1: 1"]), ("<feed></feed>\n", []),
        ("<feed><entry><content><R><a>1</a></R></content></entry>", ["1: 1", "cut off"]),
        ("<feed><entry><content><R><a>1</a></R></content></entry><entry><content><R><a>2<", ["1: 1", "cut off"]),
    ])
    func rows_areFound(text: String, expected: [String]) throws {
        for pieceBytes in [1, 7, 10_000] {
            #expect(try read(text, pieceBytes: pieceBytes) == expected, "\(text)")
        }
    }

    /// A file of one line is all header: its names are data.
    @Test func table_isRefused_whenItsLinesEndWithACarriageReturnAlone() throws {
        let text = "installId,token\ra1,secret-1\ra2,secret-2\r"
        let failure = #expect(throws: ImportFailure.self) { try read(text) }
        #expect(
            failure?.description.contains("carriage return") == true && failure?.description.contains("secret") == false
        )
        #expect(throws: ImportFailure.self) {
            try CSVColumns(header: ["id", "token\ra1", "secret-1\ra2"], ImportNames(map: ["id": .installID]))
        }
        #expect(try read("\"b\r\n\",a\r\n1,2\r\n") == ["3: 2"])
        for text in ["a;secret\n1;2\n", "a\tsecret\n1\t2\n", "sep=;\na;b\n"] {
            let failure = #expect(throws: ImportFailure.self) { try read(text) }
            #expect(failure?.description.contains("commas") == true && failure?.description.contains("secret") == false)
        }
    }

    @Test func unknownNames_areNotPrinted_whenTheyMayBeSecrets() {
        var names = ImportNames()
        for name in ["shoe size", String(repeating: "f0", count: 32), "bob@example.com", "+491701234567", "a\rb"] {
            names.noteUnknown(name)
        }
        #expect(names.unknown == ["shoe size", "(others)"])
    }

    @Test func newestRow_isChosen_inBoundedMemory() throws {
        var rows: [ScannedRow] = []
        for number in 0..<2_000 {
            let identity = ForeignIdentity(
                token: try Token("token-\(number % 700)", of: .fcm), installID: try InstallID("id-\(number % 900)"),
                seenAt: Timestamp(microseconds: Int64(number * 7_919 % 1_013)), isOptedOut: false)
            rows.append(ScannedRow(identity, number: Int64(number), supplement: nil, now: .now()))
        }
        var sorter = RowSorter<ScannedRow>(rowsMax: 64) { ($0.token, $0.number) < ($1.token, $1.number) }
        for row in rows { try sorter.add(row) }
        var (sorted, found) = (try sorter.sorted(), [ScannedRow]())
        while let row = try sorted.next() { found.append(row) }
        #expect(found == rows.sorted { ($0.token, $0.number) < ($1.token, $1.number) })
    }
}
