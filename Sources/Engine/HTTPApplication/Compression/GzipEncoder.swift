import CZlib

/// Encodes one gzip member (RFC 1952), with ISA-L if that is installed and little effort is wanted, else with zlib.
/// Owns the library's stream, which must not move in memory and costs about 270 KB.
struct GzipEncoder: ~Copyable {
    /// How the stream continues after the input of a call.
    enum Continuation {
        /// More input follows; output may be withheld.
        case more
        /// More input may come late: the output so far decompresses to all of the input so far.
        case pause
        /// No input follows; the member is complete.
        case end
    }

    /// An error code of the library; zlib's `Z_MEM_ERROR` is the one to expect.
    struct Failure: Error {
        let code: CInt
    }

    /// How much processor time the compression may take.
    enum Effort {
        /// For streams. Tokens are random, so more effort would save little.
        case least
        /// For files, which are compressed once.
        case most
    }

    private static let outputBufferBytes = 16 * 1024

    private let stream: DeflateStream
    private let outputBuffer: UnsafeMutableBufferPointer<UInt8>

    init(_ effort: Effort = .least) throws(Failure) {
        try self.init(effort, with: effort == .least ? IsalLibrary.shared : nil)
    }

    /// - Parameter library: nil for zlib.
    init(_ effort: Effort, with library: IsalLibrary?) throws(Failure) {
        if let library {
            stream = .isal(library, library.makeStream())
        } else {
            stream = .zlib(try ZlibStream.make(effort))
        }
        outputBuffer = .allocate(capacity: Self.outputBufferBytes)
    }

    deinit {
        stream.deallocate()
        outputBuffer.deallocate()
    }

    /// Compresses `bytes`.
    ///
    /// - Returns: the output that is ready. It is hardly longer than the input that was still pending.
    mutating func encode(_ bytes: ArraySlice<UInt8>, then next: Continuation) throws(Failure) -> [UInt8] {
        var output: [UInt8] = []
        let code = bytes.withUnsafeBufferPointer { input in
            stream.provide(input)
            return drain(next, into: &output)
        }
        guard code == 0 else { throw Failure(code: code) }
        return output
    }

    /// Runs the library until it leaves some of the buffer unused, which means that it has no more output.
    private mutating func drain(_ next: Continuation, into output: inout [UInt8]) -> CInt {
        while true {
            let (code, unused) = stream.run(next, into: outputBuffer)
            guard code == 0 else { return code }
            output.append(contentsOf: outputBuffer[..<(outputBuffer.count - unused)])
            if unused > 0 { return 0 }
        }
    }
}

/// The stream of one of the two libraries, which have the same calls.
private enum DeflateStream {
    case zlib(UnsafeMutablePointer<z_stream>)
    case isal(IsalLibrary, UnsafeMutablePointer<isal_stream_>)

    /// The input must stay in place until it is used up.
    func provide(_ input: UnsafeBufferPointer<UInt8>) {
        switch self {
        case .zlib(let stream):
            // zlib only reads its input; the C type lacks the const.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = CUnsignedInt(input.count)
        case .isal(_, let stream):
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
        }
    }

    /// - Returns: an error code, else 0; and the bytes of the buffer that are unused.
    func run(
        _ next: GzipEncoder.Continuation, into buffer: UnsafeMutableBufferPointer<UInt8>
    ) -> (code: CInt, unused: Int) {
        switch self {
        case .zlib(let stream):
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = CUnsignedInt(buffer.count)
            let code = deflate(stream, ZlibStream.flushMode(next))
            // Z_BUF_ERROR means that there was nothing to do, for example at a second flush. It is not an error.
            let isFine = code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR
            return (isFine ? Z_OK : code, Int(stream.pointee.avail_out))
        case .isal(let library, let stream):
            stream.pointee.next_out = buffer.baseAddress
            stream.pointee.avail_out = UInt32(buffer.count)
            stream.pointee.end_of_stream = next == .end ? 1 : 0
            stream.pointee.flush = UInt16(next == .pause ? ISAL_SYNC_FLUSH_ : ISAL_NO_FLUSH_)
            return (library.deflate(stream), Int(stream.pointee.avail_out))
        }
    }

    func deallocate() {
        switch self {
        case .zlib(let stream):
            deflateEnd(stream)
            stream.deallocate()
        case .isal(_, let stream):
            stream.pointee.level_buf.deallocate()
            UnsafeMutableRawPointer(stream).deallocate()
        }
    }
}

/// Streams of zlib.
private enum ZlibStream {
    /// zlib's largest window; 16 more selects gzip's header and trailer.
    private static let windowBits: CInt = MAX_WBITS + 16
    /// zlib's default, according to its manual the best compromise of speed and memory.
    private static let memoryLevel: CInt = 8

    static func make(_ effort: GzipEncoder.Effort) throws(GzipEncoder.Failure) -> UnsafeMutablePointer<z_stream> {
        let level =
            switch effort {
            case .least: Z_BEST_SPEED
            case .most: Z_BEST_COMPRESSION
            }
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // deflateInit2 is a macro around this.
        let code = deflateInit2_(
            stream, level, Z_DEFLATED, windowBits, memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            stream.deallocate()
            throw GzipEncoder.Failure(code: code)
        }
        return stream
    }

    static func flushMode(_ next: GzipEncoder.Continuation) -> CInt {
        switch next {
        case .more: Z_NO_FLUSH
        case .pause: Z_SYNC_FLUSH
        case .end: Z_FINISH
        }
    }
}

/// ISA-L (Debian's libisal2), which compresses some six times as fast as zlib. Loaded on first use and never unloaded.
struct IsalLibrary: @unchecked Sendable {
    /// Nil if it is not installed.
    static let shared = IsalLibrary()

    private var functions = isal_library_()

    init?() {
        guard isal_load_(&functions) != 0 else { return nil }
    }

    func makeStream() -> UnsafeMutablePointer<isal_stream_> {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Int(ISAL_STREAM_BYTES_), alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: Int(ISAL_STREAM_BYTES_))
        let stream = memory.bindMemory(to: isal_stream_.self, capacity: 1)
        functions.deflate_init(stream)
        stream.pointee.level = UInt32(ISAL_LEVEL_)
        stream.pointee.level_buf = .allocate(capacity: Int(ISAL_LEVEL_BUFFER_BYTES_))
        stream.pointee.level_buf_size = UInt32(ISAL_LEVEL_BUFFER_BYTES_)
        stream.pointee.gzip_flag = UInt16(ISAL_GZIP_)
        return stream
    }

    func deflate(_ stream: UnsafeMutablePointer<isal_stream_>) -> CInt { functions.deflate(stream) }
}
