import CZlib

/// Encodes one gzip member (RFC 1952). Owns a `z_stream`, which must not move in memory and costs 270 KB.
struct GzipEncoder: ~Copyable {
    /// How the stream continues after the input of a call.
    enum Continuation {
        /// More input follows; output may be withheld (Z_NO_FLUSH).
        case more
        /// More input may come late: the output so far decompresses to all of the input so far (Z_SYNC_FLUSH).
        case pause
        /// No input follows; the member is complete (Z_FINISH).
        case end

        fileprivate var flushMode: CInt {
            switch self {
            case .more: Z_NO_FLUSH
            case .pause: Z_SYNC_FLUSH
            case .end: Z_FINISH
            }
        }
    }

    /// An error code of zlib; `Z_MEM_ERROR` is the one to expect.
    struct Failure: Error {
        let code: CInt
    }

    /// How much processor time the compression may take.
    enum Effort {
        /// For streams: small pieces are compressed on the loop. Tokens are random, so a higher level would save
        /// little.
        case least
        /// For files, which are compressed once.
        case most

        fileprivate var level: CInt {
            switch self {
            case .least: Z_BEST_SPEED
            case .most: Z_BEST_COMPRESSION
            }
        }
    }

    /// zlib's largest window; 16 more selects gzip's header and trailer.
    private static let windowBits: CInt = MAX_WBITS + 16

    /// zlib's default, according to its manual the best compromise of speed and memory.
    private static let memoryLevel: CInt = 8

    private static let outputBufferBytes = 16 * 1024

    private let stream: UnsafeMutablePointer<z_stream>
    private let outputBuffer: UnsafeMutableBufferPointer<UInt8>

    init(_ effort: Effort = .least) throws(Failure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        outputBuffer = .allocate(capacity: Self.outputBufferBytes)
        // deflateInit2 is a macro around this.
        let code = deflateInit2_(
            stream, effort.level, Z_DEFLATED, Self.windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw Failure(code: code) }
    }

    deinit {
        // Does nothing for a stream that was never set up.
        deflateEnd(stream)
        stream.deallocate()
        outputBuffer.deallocate()
    }

    /// Compresses `bytes`.
    ///
    /// - Returns: the output that is ready. It is hardly longer than the input that was still pending.
    mutating func encode(_ bytes: ArraySlice<UInt8>, then next: Continuation) throws(Failure) -> [UInt8] {
        var output: [UInt8] = []
        let code = bytes.withUnsafeBufferPointer { input in
            // zlib only reads its input; the C type lacks the const.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = CUnsignedInt(input.count)
            return drain(next.flushMode, into: &output)
        }
        guard code == Z_OK else { throw Failure(code: code) }
        return output
    }

    /// Runs zlib until it leaves some of the buffer unused, which means that it has no more output.
    private mutating func drain(_ flushMode: CInt, into output: inout [UInt8]) -> CInt {
        repeat {
            stream.pointee.next_out = outputBuffer.baseAddress
            stream.pointee.avail_out = CUnsignedInt(outputBuffer.count)
            let code = deflate(stream, flushMode)
            // Z_BUF_ERROR means that there was nothing to do, for example at a second flush. It is not an error.
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { return code }
            output.append(contentsOf: outputBuffer[..<(outputBuffer.count - Int(stream.pointee.avail_out))])
        } while stream.pointee.avail_out == 0
        return Z_OK
    }
}
