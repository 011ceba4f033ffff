import Foundation
import PushRegistry

/// Cuts records out of a file that may be of any size. What cannot be read costs its own line, never the ones behind
/// it.
struct ImportRecords {
    /// A record as it was cut out, with how much of the file it was.
    struct Cut<Content> {
        /// Nil for an empty line.
        let content: Content?
        let byteCount: Int
        let lineCount: Int
    }

    /// How long a record may be: as long as the body of a registration.
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

    /// The next record that is not empty, with the number of its first line; nil at the end.
    ///
    /// - Parameter cut: takes the first record from the bytes, which are all there is of the file where the flag says
    ///   so; nil where they are too few.
    /// - Throws: what reading the file throws.
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

    /// Goes on behind the end of the line.
    ///
    /// - Returns: whether there is more.
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
        // A byte order mark, as spreadsheets write it.
        if isFirst, buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        isFirst = false
    }

    private static let tooLong = ImportFaults([
        ImportFault(code: "too-long", "A line has at most \(recordBytesMax) bytes.")
    ])
}
