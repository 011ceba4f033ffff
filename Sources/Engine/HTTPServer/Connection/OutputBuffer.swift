import DequeModule

/// The unsent bytes of a connection's responses. Positions count from the connection's first byte.
///
/// Small responses are collected in one buffer. A large body is a piece of its own: it is not copied, and a constant
/// one is shared by all connections.
struct OutputBuffer {
    /// A body of this size is not copied.
    static let pieceBytesMin = 16 * 1024

    private struct Piece {
        let bytes: [UInt8]
        let isConstant: Bool
    }

    /// Append here; sent after the pieces.
    var bytes: [UInt8] = []
    private var pieces: Deque<Piece> = []
    /// The bytes of `pieces` that are unsent, and those of them that are constant.
    private var pieceByteCount = 0
    private var constantByteCount = 0
    /// The sent bytes at the start of the first piece, or else of `bytes`.
    private var start = 0
    /// The bytes sent since the connection began.
    private(set) var sentTotal = 0

    /// The number of unsent bytes.
    var count: Int { pieces.isEmpty ? bytes.count - start : pieceByteCount + bytes.count }

    var isEmpty: Bool { count == 0 }

    /// The unsent bytes that this connection alone holds.
    var ownCount: Int { count - constantByteCount }

    /// The position after the last byte: where a response that was just appended ends.
    var end: Int { sentTotal + count }

    /// Appends the body of a response.
    mutating func append(body: [UInt8], isConstant: Bool) {
        guard body.count >= Self.pieceBytesMin else { return bytes.append(contentsOf: body) }
        if count > 0, pieces.isEmpty || !bytes.isEmpty {
            let isFirst = pieces.isEmpty
            append(Piece(bytes: Array(isFirst ? bytes[start...] : bytes[...]), isConstant: false))
            if isFirst { start = 0 }
        } else if pieces.isEmpty {
            start = 0
        }
        bytes.removeAll(keepingCapacity: true)
        append(Piece(bytes: body, isConstant: isConstant))
    }

    private mutating func append(_ piece: Piece) {
        pieces.append(piece)
        pieceByteCount += piece.bytes.count
        if piece.isConstant { constantByteCount += piece.bytes.count }
    }

    /// Lends the unsent bytes of the first piece, and whether others follow.
    func withUnsentBytes<Value>(_ body: (_ bytes: UnsafeRawBufferPointer, _ hasMore: Bool) -> Value) -> Value {
        let first = pieces.first?.bytes ?? bytes
        return first.withUnsafeBytes {
            let unsent = UnsafeRawBufferPointer(rebasing: $0[start...])
            return body(unsent, unsent.count < count)
        }
    }

    /// Removes the first `count` unsent bytes, at most those that `withUnsentBytes` lent.
    ///
    /// - Returns: whether these were all that it lent.
    mutating func remove(_ count: Int) -> Bool {
        start += count
        sentTotal += count
        guard let piece = pieces.first else {
            let isWhole = start == bytes.count
            moveRest()
            return isWhole
        }
        pieceByteCount -= count
        if piece.isConstant { constantByteCount -= count }
        guard start == piece.bytes.count else { return false }
        pieces.removeFirst()
        start = 0
        return true
    }

    /// A reader that always lags a little would let a long response pile up in memory. Moving the rest costs no more
    /// than sending it.
    private mutating func moveRest() {
        guard start >= count, start < bytes.count else { return }
        bytes.removeFirst(start)
        start = 0
    }

    /// Drops the unsent bytes.
    mutating func discard() {
        let sent = sentTotal
        self = OutputBuffer()
        sentTotal = sent
    }

    /// Takes over spare memory if it has none.
    mutating func adopt(_ spare: inout [UInt8]) {
        if bytes.capacity == 0 { swap(&bytes, &spare) }
    }

    /// Gives up its memory once everything is sent: an idle connection holds none.
    mutating func release() -> [UInt8]? {
        guard isEmpty, bytes.capacity > 0 else { return nil }
        var spent: [UInt8] = []
        swap(&spent, &bytes)
        (start, pieces) = (0, [])
        spent.removeAll(keepingCapacity: true)
        return spent
    }
}
