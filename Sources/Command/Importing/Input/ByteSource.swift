import CZlib
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

/// Decompresses one deflate stream (RFC 1951) or gzip member (RFC 1952). Owns a `z_stream`, which must not move.
final class Inflater {
    enum Wrapping {
        case gzip, none

        fileprivate var windowBits: CInt { self == .gzip ? MAX_WBITS + 16 : -MAX_WBITS }
    }

    /// The bytes are not such a stream.
    struct Malformed: Error {}

    private static let outputBytes = 256 * 1_024

    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableBufferPointer<UInt8>

    init(_ wrapping: Wrapping) throws {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(capacity: Self.outputBytes)
        // inflateInit2 is a macro around this.
        let code = inflateInit2_(stream, wrapping.windowBits, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw Malformed() }
    }

    deinit {
        // Does nothing for a stream that was never set up.
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Decompresses the bytes from `start` on, until the output buffer is full or the input is used up.
    ///
    /// - Returns: the decompressed bytes, the number of used bytes, and whether the stream has ended.
    func inflate(_ input: [UInt8], from start: Int) throws -> (bytes: [UInt8], used: Int, isEnd: Bool) {
        let code = input.withUnsafeBufferPointer { buffer in
            // zlib only reads its input; the C type lacks the const.
            stream.pointee.next_in = buffer.baseAddress.map { UnsafeMutablePointer(mutating: $0 + start) }
            stream.pointee.avail_in = CUnsignedInt(buffer.count - start)
            stream.pointee.next_out = output.baseAddress
            stream.pointee.avail_out = CUnsignedInt(output.count)
            return CZlib.inflate(stream, Z_NO_FLUSH)
        }
        // Z_BUF_ERROR means that zlib needs more input.
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Malformed() }
        let bytes = Array(output[..<(output.count - Int(stream.pointee.avail_out))])
        return (bytes, input.count - start - Int(stream.pointee.avail_in), code == Z_STREAM_END)
    }
}

/// Decompresses one stream, and leaves what follows it to the source.
final class InflatedBytes: ByteSource {
    private let source: PeekableBytes
    private let inflater: Inflater
    private var input: [UInt8] = []
    private var start = 0
    private(set) var isEnd = false

    init(_ source: PeekableBytes, _ wrapping: Inflater.Wrapping) throws {
        self.source = source
        inflater = try Inflater(wrapping)
    }

    func read() throws -> [UInt8]? {
        while !isEnd {
            if start == input.count {
                guard let more = try source.read() else { throw InputEndsEarly() }
                (input, start) = (more, 0)
            }
            let step: (bytes: [UInt8], used: Int, isEnd: Bool)
            do { step = try inflater.inflate(input, from: start) } catch {
                throw InputDamaged()
            }
            start += step.used
            if step.isEnd {
                isEnd = true
                source.putBack(input[start...])
            }
            if !step.bytes.isEmpty { return step.bytes }
        }
        return nil
    }
}

/// A gzip file of one or more members.
final class GzipBytes: ByteSource {
    static let signature: [UInt8] = [0x1F, 0x8B]

    private let source: PeekableBytes
    private var member: InflatedBytes

    init(_ source: PeekableBytes) throws {
        self.source = source
        member = try InflatedBytes(source, .gzip)
    }

    func read() throws -> [UInt8]? {
        while true {
            if let bytes = try member.read() { return bytes }
            guard source.peek(2).elementsEqual(Self.signature) else { break }
            member = try InflatedBytes(source, .gzip)
        }
        // Zeros are padding. Other bytes are a member that was overwritten.
        while let rest = try source.read() {
            guard rest.allSatisfy({ $0 == 0 }) else { throw InputDamaged() }
        }
        return nil
    }
}
