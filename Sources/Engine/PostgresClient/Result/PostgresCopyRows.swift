/// Rows of a `COPY … TO STDOUT (FORMAT binary)`, concatenated as the server sent them:
/// <https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4>.
///
/// Each row has the number of its fields (two bytes), and for each field its length (four bytes, -1 for NULL) and its
/// bytes in PostgreSQL's binary form. Numbers are big-endian.
public struct PostgresCopyRows: Sendable {
    /// The rows only, without the header and the trailer of the format.
    public private(set) var bytes: [UInt8] = []
    /// The number of rows.
    public private(set) var count = 0

    private static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
    /// The signature, the flags and the length of the extension, which no server has used so far.
    private static let headerBytes = signature.count + 8
    private static let trailer: [UInt8] = [0xFF, 0xFF]

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends one message of the server, which contains a row or the trailer. The header precedes the first of them.
    mutating func append(_ message: UnsafeRawBufferPointer) {
        let row = message.starts(with: Self.signature) ? message.dropFirst(Self.headerBytes) : message[...]
        guard !row.elementsEqual(Self.trailer) else { return }
        bytes.append(contentsOf: row)
        count += 1
    }
}
