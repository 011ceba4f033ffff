import Foundation
import PushRegistry

/// Cuts a file with one XML element a line. A text between `<![CDATA[` and `]]>` may have line ends.
enum XMLLine {
    static func cut(
        _ bytes: ArraySlice<UInt8>, isEnd: Bool
    ) throws(ImportFaults) -> RecordCutter.Cut<ArraySlice<UInt8>>? {
        var (search, lines) = (bytes, 0)
        while let end = search.firstIndex(of: UInt8(ascii: "\n")) {
            lines += 1
            let line = bytes[..<end]
            if !isOpen(line) { return record(line, byteCount: line.count + 1, lineCount: lines) }
            search = bytes[(end + 1)...]
        }
        return isEnd ? record(bytes, byteCount: bytes.count, lineCount: lines + 1) : nil
    }

    private static func record(
        _ line: ArraySlice<UInt8>, byteCount: Int, lineCount: Int
    ) -> RecordCutter.Cut<ArraySlice<UInt8>> {
        let text = String(decoding: line, as: UTF8.self).trimmingSpaces()
        // Tools put a declaration before the first element.
        let isDeclaration = text.hasPrefix("<?xml") && text.range(of: "?>")?.upperBound == text.endIndex
        return RecordCutter.Cut(
            content: text.isEmpty || isDeclaration ? nil : line, byteCount: byteCount, lineCount: lineCount)
    }

    /// Whether the line ends in such a text.
    private static func isOpen(_ line: ArraySlice<UInt8>) -> Bool {
        guard let start = lastIndex(of: Array("<![CDATA[".utf8), in: line) else { return false }
        return lastIndex(of: Array("]]>".utf8), in: line[start...]) == nil
    }

    private static func lastIndex(of mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        guard bytes.count >= mark.count else { return nil }
        return (bytes.startIndex...(bytes.endIndex - mark.count)).last {
            bytes[$0] == mark[0] && bytes[$0...].starts(with: mark)
        }
    }
}
