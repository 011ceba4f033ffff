import Foundation

/// Bytes of any number, read in pieces. Reading **blocks**.
protocol ByteSource: AnyObject {
    /// The next bytes, never empty; nil at the end.
    ///
    /// - Throws: `InputEndsEarly` if the bytes are the beginning of a longer file; other errors of reading.
    func read() throws -> [UInt8]?
}

/// A compressed file or a JSON text that was cut off. All records before the end are good.
struct InputEndsEarly: Error {}

/// A compressed file whose content is not what was compressed.
struct InputDamaged: Error {}

/// A file or standard input.
final class FileBytes: ByteSource {
    private static let readBytes = 256 * 1_024

    private let file: FileHandle
    /// How many bytes were read, for the progress.
    private let progress: InputProgress?

    init(_ file: FileHandle, progress: InputProgress? = nil) {
        self.file = file
        self.progress = progress
    }

    func read() throws -> [UInt8]? {
        guard let data = try file.read(upToCount: Self.readBytes), !data.isEmpty else { return nil }
        progress?.add(data.count)
        return Array(data)
    }
}

/// A source whose next bytes can be looked at before they are read.
final class PeekableBytes: ByteSource {
    private let source: any ByteSource
    private var buffer: [UInt8] = []
    private var start = 0
    private var failure: (any Error)?

    init(_ source: any ByteSource) {
        self.source = source
    }

    /// The next bytes: `count` of them, or fewer at the end.
    func peek(_ count: Int) -> ArraySlice<UInt8> {
        while buffer.count - start < count, failure == nil {
            do {
                guard let more = try source.read() else { break }
                if start > 0 { buffer.removeSubrange(..<start) }
                start = 0
                buffer += more
            } catch {
                failure = error
            }
        }
        return buffer[start...].prefix(count)
    }

    func read() throws -> [UInt8]? {
        guard start == buffer.count else {
            defer { (buffer, start) = ([], 0) }
            return start == 0 ? buffer : Array(buffer[start...])
        }
        if let failure { throw failure }
        return try source.read()
    }

    /// - Returns: exactly so many bytes.
    /// - Throws: `InputEndsEarly` if there are fewer.
    func take(_ count: Int) throws -> [UInt8] {
        let bytes = Array(peek(count))
        guard bytes.count == count else { throw failure ?? InputEndsEarly() }
        start += count
        return bytes
    }

    /// Gives bytes back that were read and belong to what follows.
    func putBack(_ bytes: ArraySlice<UInt8>) {
        buffer.replaceSubrange(..<start, with: bytes)
        start = 0
    }
}
