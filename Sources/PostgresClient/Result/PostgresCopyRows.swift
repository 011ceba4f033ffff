/// Rows of a `COPY … TO STDOUT (FORMAT binary)`, one behind the other as the server sent them:
/// <https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4>.
///
/// Each is the number of its fields (two bytes) and then, for each field, its length (four bytes, -1 for NULL) and its
/// bytes in PostgreSQL's binary form. Numbers are big-endian.
public struct PostgresCopyRows: Sendable {
    public private(set) var bytes: [UInt8] = []
    /// The number of rows.
    public private(set) var count = 0

    private static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
    /// The signature, the flags and the length of an extension, which no server has sent so far.
    private static let headerBytes = signature.count + 8
    private static let trailer: [UInt8] = [0xFF, 0xFF]

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends what one message of the server holds: the header with the first row or the trailer, a row, the trailer.
    mutating func append(_ message: UnsafeRawBufferPointer) {
        let row = message.starts(with: Self.signature) ? message.dropFirst(Self.headerBytes) : message[...]
        guard !row.elementsEqual(Self.trailer) else { return }
        bytes.append(contentsOf: row)
        count += 1
    }
}
