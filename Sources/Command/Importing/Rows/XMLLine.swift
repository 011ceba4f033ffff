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
        let text = line.drop(while: isSpace)
        return RecordCutter.Cut(
            content: text.isEmpty || isDeclaration(text) ? nil : line, byteCount: byteCount, lineCount: lineCount)
    }

    /// Tools put `<?xml version="1.0"?>` before the first element. Other elements may follow in the same line.
    private static func isDeclaration(_ text: ArraySlice<UInt8>) -> Bool {
        guard text.starts(with: Array("<?xml".utf8)), let end = text.firstIndex(of: UInt8(ascii: ">")) else {
            return false
        }
        return text[(end + 1)...].allSatisfy(isSpace)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }

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
