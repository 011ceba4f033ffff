import CZlib

/// Reads the files of a zip archive one after the other, from the local headers (APPNOTE 4.3.7), so that the archive
/// may come from a pipe. (Swift's zip libraries need a file that can be sought, or read entries into memory.)
final class ZipBytes {
    static let signature: [UInt8] = [0x50, 0x4B, 0x03, 0x04]

    /// APPNOTE 4.4.4.
    private enum Flag {
        static let encrypted: UInt16 = 1
        static let hasDescriptor: UInt16 = 8
    }

    private static let storedMethod = 0
    private static let deflatedMethod = 8
    private static let nameBytesMax = 1_024

    private let source: PeekableBytes
    private var entry: Entry?

    /// A file of the archive.
    struct Entry {
        let name: String
        let bytes: ChecksummedBytes
        /// Nil if it stands behind the data.
        fileprivate let checksum: UInt?
        fileprivate let isLong: Bool
    }

    init(_ source: PeekableBytes) {
        self.source = source
    }

    /// The next file; nil at the archive's directory. Reads the file before to its end.
    func next() throws -> Entry? {
        if let entry {
            while try entry.bytes.read() != nil {}
            let checksum = try entry.checksum ?? readDescriptor(isLong: entry.isLong)
            guard checksum == entry.bytes.checksum else { throw InputDamaged() }
        }
        entry = nil
        guard source.peek(4).elementsEqual(Self.signature) else {
            guard !source.peek(4).isEmpty else { throw InputEndsEarly() }
            return nil
        }
        let found = try readHeader()
        entry = found
        return found
    }

    private func readHeader() throws -> Entry {
        let header = try source.take(30)
        func number(_ offset: Int, _ count: Int) -> Int {
            header[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let flags = UInt16(number(6, 2))
        guard flags & Flag.encrypted == 0 else { throw ImportFailure("The zip archive is encrypted.") }
        let (nameCount, extraCount) = (number(26, 2), number(28, 2))
        guard nameCount <= Self.nameBytesMax else { throw InputDamaged() }
        let name = String(decoding: try source.take(nameCount), as: UTF8.self)
        let extra = try source.take(extraCount)
        let hasDescriptor = flags & Flag.hasDescriptor != 0
        let size = Self.longSize(extra) ?? number(18, 4)
        let bytes: any ByteSource
        switch number(8, 2) {
        case Self.deflatedMethod: bytes = try InflatedBytes(source, .none)
        case Self.storedMethod where !hasDescriptor || size > 0: bytes = StoredBytes(source, count: size)
        default: throw ImportFailure("The zip archive uses a compression that is not supported.")
        }
        return Entry(
            name: name, bytes: ChecksummedBytes(bytes), checksum: hasDescriptor ? nil : UInt(number(14, 4)),
            isLong: Self.longSize(extra) != nil)
    }

    /// The compressed size in the extra field of zip64 (APPNOTE 4.5.3), behind the uncompressed one.
    private static func longSize(_ extra: [UInt8]) -> Int? {
        var rest = extra[...]
        while rest.count >= 4 {
            let bytes = Array(rest.prefix(4))
            let (id, count) = (Int(bytes[0]) | Int(bytes[1]) << 8, Int(bytes[2]) | Int(bytes[3]) << 8)
            let field = rest.dropFirst(4).prefix(count)
            if id == 1, field.count >= 16 {
                return field.dropFirst(8).prefix(8).reversed().reduce(0) { ($0 & 0xFF_FFFF_FFFF_FFFF) << 8 | Int($1) }
            }
            rest = rest.dropFirst(4 + count)
        }
        return nil
    }

    /// CRC and sizes behind the data (APPNOTE 4.3.9); the signature is optional.
    ///
    /// - Returns: the CRC.
    private func readDescriptor(isLong: Bool) throws -> UInt {
        if source.peek(4).elementsEqual([0x50, 0x4B, 0x07, 0x08]) { _ = try source.take(4) }
        return try source.take(isLong ? 20 : 12).prefix(4).reversed().reduce(0) { $0 << 8 | UInt($1) }
    }
}

/// Computes the CRC-32 of the bytes that it passes on.
final class ChecksummedBytes: ByteSource {
    private let source: any ByteSource
    private(set) var checksum: UInt = 0

    init(_ source: any ByteSource) {
        self.source = source
    }

    func read() throws -> [UInt8]? {
        guard let bytes = try source.read() else { return nil }
        checksum = bytes.withUnsafeBufferPointer { crc32(checksum, $0.baseAddress, CUnsignedInt($0.count)) }
        return bytes
    }
}

/// A file that is not compressed.
private final class StoredBytes: ByteSource {
    private static let readBytes = 64 * 1_024

    private let source: PeekableBytes
    private var rest: Int

    init(_ source: PeekableBytes, count: Int) {
        self.source = source
        rest = count
    }

    func read() throws -> [UInt8]? {
        guard rest > 0 else { return nil }
        let bytes = Array(source.peek(min(rest, Self.readBytes)))
        guard !bytes.isEmpty else { throw InputEndsEarly() }
        _ = try source.take(bytes.count)
        rest -= bytes.count
        return bytes
    }
}
