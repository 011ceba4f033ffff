import CZlib

/// The output of a gzip decoder for the bytes received so far.
struct Gunzip {
    var bytes: [UInt8] = []
    /// Whether the member is complete and its checksum correct.
    var isComplete = false

    var text: String { String(decoding: bytes, as: UTF8.self) }

    struct Malformed: Error {}

    init(_ bytes: [UInt8], outputBytesMax: Int = 8 * 1024 * 1024) throws {
        var stream = z_stream()
        // 16 more than the window's bits selects gzip. inflateInit2 is a macro around this function.
        guard inflateInit2_(&stream, MAX_WBITS + 16, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw Malformed()
        }
        defer { inflateEnd(&stream) }
        var input = bytes
        var code = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: outputBytesMax) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = CUnsignedInt(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = CUnsignedInt(output.count)
                code = inflate(&stream, Z_SYNC_FLUSH)
            }
            count = output.count - Int(stream.avail_out)
        }
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Malformed() }
        self.bytes = output
        isComplete = code == Z_STREAM_END && stream.avail_in == 0
    }
}
