/// The rows of a COPY in binary form, lent by `PostgresSession.copyIn`:
/// <https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4>.
public final class PostgresCopyWriter {
    /// Bytes that are collected before they are passed to libpq: a few network packets.
    private static let chunkBytes = 64 * 1_024
    /// The signature, no flags, no header extension.
    private static let header: [UInt8] =
        Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
    private static let trailer: Int16 = -1

    private let handle: ConnectionHandle
    private var buffer = PostgresBuffer()
    /// The values of a row.
    private var binds = PostgresBinds()

    init(_ handle: ConnectionHandle) {
        self.handle = handle
        buffer.append(contentsOf: Self.header)
    }

    /// Writes one row. It **blocks** while the server is busy.
    public func write<each Value: PostgresBindable>(_ values: repeat each Value) throws(PostgresError) {
        var count: Int16 = 0
        for _ in repeat (each Value).self { count += 1 }
        buffer.append(count)
        repeat (each values).encodeField(into: &buffer)
        if buffer.bytes.count >= Self.chunkBytes { try flush() }
    }

    /// Writes one row with many columns: `bind` binds them in order.
    public func write(bind: (inout PostgresBinds) -> Void) throws(PostgresError) {
        binds.removeAll()
        bind(&binds)
        buffer.append(Int16(binds.count))
        buffer.append(contentsOf: binds.buffer.bytes)
        if buffer.bytes.count >= Self.chunkBytes { try flush() }
    }

    func finish() throws(PostgresError) {
        buffer.append(Self.trailer)
        try flush()
    }

    private func flush() throws(PostgresError) {
        try handle.putCopyData(buffer.bytes)
        buffer.removeAll()
    }
}
