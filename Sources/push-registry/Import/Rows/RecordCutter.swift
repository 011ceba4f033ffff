import Foundation
import PushRegistry

/// Splits a file of any size into records. A malformed record affects only its own line.
struct ImportRecords {
    /// A record and its length in the file.
    struct Cut<Content> {
        /// Nil for an empty line.
        let content: Content?
        let byteCount: Int
        let lineCount: Int
    }

    /// The longest record: as long as the body of a registration.
    static let recordBytesMax = 64 * 1_024
    private static let readBytes = 1_024 * 1_024

    private let file: FileHandle
    private var buffer: [UInt8] = []
    private var start = 0
    private var isEnd = false
    private var isFirst = true
    private var isRecovering = false
    private var line = 1

    init(_ file: FileHandle) {
        self.file = file
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
                if let found = try cut(rest.prefix(Self.recordBytesMax), isEnd && rest.count <= Self.recordBytesMax) {
                    start += found.byteCount
                    line += found.lineCount
                    if let content = found.content { return (number, .success(content)) }
                    continue
                }
            } catch {
                isRecovering = true
                return (number, .failure(error))
            }
            if rest.count >= Self.recordBytesMax {
                isRecovering = true
                return (number, .failure(Self.tooLong))
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
        guard let more = try file.read(upToCount: Self.readBytes), !more.isEmpty else {
            isEnd = true
            return
        }
        buffer += more
        // Spreadsheets write a byte order mark.
        if isFirst, buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        isFirst = false
    }

    private static let tooLong = ImportFaults([
        ImportFault(code: "too-long", "A line may have at most \(recordBytesMax) bytes.")
    ])
}
