import CZlib

/// Makes one gzip member (RFC 1952): the owner of a `z_stream`, which must not move in memory and costs 270 KB.
struct GzipEncoder: ~Copyable {
    /// What follows the bytes of a call.
    enum Continuation {
        /// More bytes: what they have in common with these may wait for them.
        case more
        /// Perhaps nothing for a while: all bytes so far can be read from the output so far.
        case pause
        /// Nothing; the member is complete.
        case end

        fileprivate var flushMode: CInt {
            switch self {
            case .more: Z_NO_FLUSH
            case .pause: Z_SYNC_FLUSH
            case .end: Z_FINISH
            }
        }
    }

    /// What zlib reported, `Z_MEM_ERROR` being the one to expect.
    struct Failure: Error {
        let code: CInt
    }

    /// Speed before size: a loop that compresses serves nobody else meanwhile, and tokens are random, so that all a
    /// higher level could find in them is little.
    private static let level = Z_BEST_SPEED

    /// zlib's largest window, and 16 more for gzip's header and trailer in place of its own.
    private static let windowBits: CInt = MAX_WBITS + 16

    /// zlib's default, the best compromise of speed and memory according to its manual.
    private static let memoryLevel: CInt = 8

    private static let spaceBytes = 16 * 1024

    private let stream: UnsafeMutablePointer<z_stream>
    private let space: UnsafeMutableBufferPointer<UInt8>

    init() throws(Failure) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        space = .allocate(capacity: Self.spaceBytes)
        // deflateInit2 is a macro around this.
        let code = deflateInit2_(
            stream, Self.level, Z_DEFLATED, Self.windowBits, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size))
        guard code == Z_OK else { throw Failure(code: code) }
    }

    deinit {
        // Of a stream that was never set up this is a no-op.
        deflateEnd(stream)
        stream.deallocate()
        space.deallocate()
    }

    /// Compresses `bytes`.
    ///
    /// - Returns: what is ready of the output; it is hardly longer than all bytes whose output is still due.
    mutating func encode(_ bytes: ArraySlice<UInt8>, then next: Continuation) throws(Failure) -> [UInt8] {
        var output: [UInt8] = []
        let code = bytes.withUnsafeBufferPointer { input in
            // zlib reads its input only; the type lacks the const.
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.pointee.avail_in = CUnsignedInt(input.count)
            return drain(next.flushMode, into: &output)
        }
        guard code == Z_OK else { throw Failure(code: code) }
        return output
    }

    /// Has zlib work until it leaves some of its space unused, which means that it has no more to give.
    private mutating func drain(_ flushMode: CInt, into output: inout [UInt8]) -> CInt {
        repeat {
            stream.pointee.next_out = space.baseAddress
            stream.pointee.avail_out = CUnsignedInt(space.count)
            let code = deflate(stream, flushMode)
            // Z_BUF_ERROR says that there was nothing to do, which is none: a second flush, say.
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { return code }
            output.append(contentsOf: space[..<(space.count - Int(stream.pointee.avail_out))])
        } while stream.pointee.avail_out == 0
        return Z_OK
    }
}
