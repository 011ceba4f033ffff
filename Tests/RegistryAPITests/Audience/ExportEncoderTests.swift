import Foundation
import PushRegistry
import Testing

@testable import RegistryAPI

@Suite("Rows of an export are written as JSON or CSV without loss (fine print 39)")
struct ExportEncoderTests {
    /// Rows in the database's format; nil is a missing value.
    private func rows(_ rows: [[[UInt8]?]]) -> ExportRows {
        let bytes = rows.flatMap { row in
            [UInt8](bigEndian: Int16(row.count))
                + row.flatMap { [UInt8](bigEndian: Int32($0?.count ?? -1)) + ($0 ?? []) }
        }
        return ExportRows(bytes: bytes, count: rows.count)
    }

    private func encode(_ fields: [ExportField], _ format: ExportFormat, _ cells: [[[UInt8]?]]) throws -> String {
        let encoder = ExportEncoder(fields, format, .open(AppNumber(17)))
        return try #require(String(validating: try encoder.encode(rows(cells)), as: UTF8.self))
    }

    private func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func texts_areEscaped_inBothFormats() throws {
        let specials = [
            "\"", "\\", "\n", "\r", "\t", "\u{1}", ",", "\u{1F}", " ", "\u{7F}", "ä", "😀", "a", "/", ";",
        ]
        for count in 0..<20 {
            for special in specials {
                for place in [0, count / 2, count] {
                    let whole =
                        String(repeating: "x", count: place) + special + String(repeating: "y", count: count - place)
                    let line = try encode([.column(.userID)], .ndjson, [[text(whole)]])
                    let parsed = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
                    #expect(parsed == ["userId": whole])
                    let field = try encode([.column(.userID)], .csv, [[text(whole)]])
                    let isQuoted = [",", ";", "\"", "\r", "\n"].contains(special)
                    let quoted = isQuoted ? "\"\(whole.replacing("\"", with: "\"\""))\"" : whole
                    #expect(field == quoted + "\r\n")
                }
            }
        }
    }

    @Test func cells_areWritten_inTheFormatOfTheirKind() throws {
        let fields: [ExportField] = [
            .column(.generation), .column(.field(.utcOffset)), .column(.field(.providesAppNotificationSettings)),
            .column(.field(.lastSeenAt)), .column(.field(.location)),
        ]
        let full: [[UInt8]?] = [
            .init(bigEndian: Int64.max), .init(bigEndian: Int32(-12_600)), [1],
            .init(bigEndian: Int64(817_000_000_500_000)), text("52.52 13.4"),
        ]
        let low: [[UInt8]?] = [
            .init(bigEndian: Int64.min), .init(bigEndian: Int32.zero), [0], .init(bigEndian: Int64(-1)),
            text("-1 -0.5"),
        ]
        let none = [[UInt8]?](repeating: nil, count: 5)
        let json = try encode(fields, .ndjson, [full, low, none])
        let lines = [
            #"{"generation":9223372036854775807,"utcOffset":-12600,"providesAppNotificationSettings":true,"#,
            #""lastSeenAt":"2025-11-21T00:26:40.500Z","location":{"latitude":52.52,"longitude":13.4}}"#, "\n",
            #"{"generation":-9223372036854775808,"utcOffset":0,"providesAppNotificationSettings":false,"#,
            #""lastSeenAt":"1999-12-31T23:59:59.999999Z","location":{"latitude":-1,"longitude":-0.5}}"#, "\n",
            #"{"generation":null,"utcOffset":null,"providesAppNotificationSettings":null,"#,
            #""lastSeenAt":null,"location":null}"#, "\n",
        ]
        #expect(json == lines.joined())
        let csv = try encode(fields, .csv, [full, none])
        #expect(csv == "9223372036854775807,-12600,true,2025-11-21T00:26:40.500Z,52.52 13.4\r\n,,,,\r\n")
    }

    @Test func cursor_isEscaped_likeTheIDInIt() throws {
        let id = text(#"a"b\,"#)
        let json = try encode([.cursor], .ndjson, [[id]])
        #expect(json == "{\"cursor\":\"17.a\\\"b\\\\,\"}\n")
        let csv = try encode([.cursor, .column(.installID)], .csv, [[id]])
        #expect(csv == "\"a\"\"b\\,\",\"17.a\"\"b\\,\"\r\n")
    }

    @Test func opaqueIDs_andTheirCursors_areHexadecimal() throws {
        let id = (0..<16).map { UInt8($0) * 17 }
        let cursors = OpaqueCursors(AppIdentityKey(bytes: Array(repeating: 7, count: 32)))
        let encoder = ExportEncoder([.id, .cursor], .csv, .opaque(cursors), isSpreadsheetSafe: true)
        #expect(encoder.columns == [.opaqueID])
        let line = String(decoding: try encoder.encode(rows([[id]])), as: UTF8.self)
        let cells = line.dropLast().split(separator: ",").map(String.init)
        #expect(cells.count == 2 && cells[0] == "00112233445566778899aabbccddeeff" && cells[1].hasPrefix(cells[0]))
        let place = { (cursors: OpaqueCursors, text: String) in cursors.place(at: text, bytesCount: id.count) }
        #expect(place(cursors, cells[1]) == id)
        for digit in 0..<cells[1].count {
            var other = Array(cells[1])
            other[digit] = other[digit] == "0" ? "1" : "0"
            #expect(place(cursors, String(other)) == nil)
        }
        #expect(place(OpaqueCursors(AppIdentityKey(bytes: Array(repeating: 8, count: 32))), cells[1]) == nil)
        for text in ["", "x", cells[0], cells[1] + "00", cells[1].uppercased()] { #expect(place(cursors, text) == nil) }
    }
}

extension [UInt8] {
    fileprivate init(bigEndian number: some FixedWidthInteger) {
        self = Swift.withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
