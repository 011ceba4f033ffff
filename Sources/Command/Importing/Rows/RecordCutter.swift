import PushRegistry

/// Splits bytes of any number into records. A malformed record affects only its own line.
struct RecordCutter {
    /// A record and its length in the file.
    struct Cut<Content> {
        /// Nil for an empty line.
        let content: Content?
        let byteCount: Int
        let lineCount: Int
    }

    /// The longest record of our own format: as long as the body of a registration.
    static let recordBytesMax = 64 * 1_024

    private let source: any ByteSource
    private let recordBytesMax: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var isEnd = false
    /// Whether the source is cut off.
    private(set) var endsEarly = false
    private var isFirst = true
    private var isRecovering = false
    private var line = 1

    /// Whether the record before is in the last line, and this has no line end: the file may have been cut off there.
    var isInOpenLine: Bool {
        guard isEnd else { return false }
        return start == buffer.count
            ? buffer.last != UInt8(ascii: "\n") : !buffer[start...].contains(UInt8(ascii: "\n"))
    }

    init(_ source: any ByteSource, recordBytesMax: Int = recordBytesMax) {
        self.source = source
        self.recordBytesMax = recordBytesMax
    }

    /// The next record that is not empty, with the number of its first line; nil at the end of the file.
    ///
    /// - Parameter cut: parses the first record of the bytes; returns nil if it is incomplete. The flag says whether
    ///   the bytes are the end of the file.
    /// - Throws: the error of reading the file.
    mutating func next<Content>(
        _ cut: (ArraySlice<UInt8>, Bool) throws(ImportFaults) -> Cut<Content>?
    ) throws -> (line: Int, record: Result<Content, ImportFaults>)? {
        while true {
            if isRecovering, try !recover() { return nil }
            let rest = buffer[start...]
            guard !(rest.isEmpty && isEnd) else { return nil }
            let number = line
            do throws(ImportFaults) {
                if let found = try cut(rest.prefix(recordBytesMax), isEnd && rest.count <= recordBytesMax) {
                    start += found.byteCount
                    line += found.lineCount
                    if let content = found.content { return (number, .success(content)) }
                    continue
                }
            } catch {
                isRecovering = true
                return (number, .failure(error))
            }
            if rest.count >= recordBytesMax {
                isRecovering = true
                return (number, .failure(tooLong))
            }
            try fill()
        }
    }

    /// Skips to the next line.
    ///
    /// - Returns: false at the end of the file.
    private mutating func recover() throws -> Bool {
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                start = end + 1
                line += 1
                isRecovering = false
                return true
            }
            start = buffer.endIndex
            guard !isEnd else { return false }
            try fill()
        }
    }

    private mutating func fill() throws {
        buffer.removeSubrange(..<start)
        start = 0
        let more: [UInt8]?
        do { more = try source.read() } catch is InputEndsEarly {
            endsEarly = true
            more = nil
        }
        guard let more else {
            isEnd = true
            return
        }
        buffer += more
        // Spreadsheets write a byte order mark.
        if isFirst, buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        isFirst = false
    }

    private var tooLong: ImportFaults {
        ImportFaults([ImportFault(code: "too-long", "A line may have at most \(recordBytesMax) bytes.")])
    }
}
