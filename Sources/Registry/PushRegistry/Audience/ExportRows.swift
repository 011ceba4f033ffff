/// A column that an export reads.
public enum ExportColumn: Hashable, Sendable {
    case field(AudienceField)
    case installID, token, generation, userID
    /// Columns that an import needs to create the same installation.
    case keychainID, vendorID, languages, sessionID, sessionExpiresAt
    /// The keys of a Web Push subscription.
    case p256dh, auth
    /// The number of the installation's cell in the roll-up.
    case cell
    case opaqueID
    /// Of a typed token.
    case environment, tokenName, tokenExpiresAt
    /// Of rows of typed tokens: what `AudiencePosition` has of a row. An installation id, a space and the name, `-` for
    /// none; or an opaque id and the name's digest.
    case place

    /// The format of a column's cells.
    public enum Kind: Hashable, Sendable {
        /// UTF-8.
        case text
        /// Four or eight bytes, big-endian.
        case integer
        /// One byte, 0 or 1.
        case flag
        /// Microseconds since 2000-01-01T00:00:00Z in eight bytes, big-endian.
        case time
        /// Two decimal numbers separated by a space: latitude and longitude.
        case location
        /// A JSON text.
        case json
        /// The bytes of an `OpaqueID`.
        case opaqueID
    }

    public var kind: Kind {
        switch self {
        case .generation, .cell, .field(.utcOffset): .integer
        case .field(.providesAppNotificationSettings): .flag
        case .field(.lastSeenAt), .field(.createdAt), .sessionExpiresAt, .tokenExpiresAt: .time
        case .languages: .json
        case .opaqueID: .opaqueID
        case .field(.location): .location
        default: .text
        }
    }
}

/// A chunk of an export: rows as the database sent them, in one buffer that is not parsed yet. An export has many
/// millions of rows, so a cell is a range of the buffer and no value is created for it.
public struct ExportRows: Sendable {
    /// For each row the number of its cells (two bytes), then for each cell its length (four bytes, -1 for no value)
    /// and its content, in the format of its column's `kind`. Numbers are big-endian.
    public let bytes: [UInt8]
    /// The number of rows.
    public let count: Int

    public init(bytes: [UInt8], count: Int) {
        (self.bytes, self.count) = (bytes, count)
    }

    /// The range of a cell's content in the buffer.
    public struct Cell: Sendable {
        public let start: Int
        /// Negative if the cell has no value.
        public let count: Int

        @inlinable
        init(start: Int, count: Int) {
            (self.start, self.count) = (start, count)
        }

        /// Lends the content of a cell that has a value.
        @inlinable
        public func withBytes(of bytes: RawSpan, _ body: (UnsafeRawBufferPointer) -> Void) {
            bytes.extracting(start..<start + count).withUnsafeBytes(body)
        }
    }

    /// Lends the rows one after another: the whole buffer, and the ranges of the row's cells in the order of the
    /// columns.
    @inlinable
    public func withEachRow(_ body: (_ bytes: RawSpan, _ cells: [Cell]) -> Void) {
        let bytes = bytes.span.bytes
        var cells: [Cell] = []
        var position = 0
        for _ in 0..<count {
            Self.readRow(bytes, &position, into: &cells)
            body(bytes, cells)
        }
    }

    @inlinable
    static func readRow(_ bytes: RawSpan, _ position: inout Int, into cells: inout [Cell]) {
        let cellCount = Int16(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: Int16.self))
        position += 2
        cells.removeAll(keepingCapacity: true)
        for _ in 0..<cellCount {
            let count = Int(Int32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: Int32.self)))
            position += 4
            cells.append(Cell(start: position, count: count))
            position += max(count, 0)
        }
    }
}
