import DequeModule
import HTTPApplication
import HTTPTypes

/// What became of a request.
struct Outcome {
    /// Nil until the head of the response is written.
    var status: HTTPResponse.Status?
    /// The bytes of the body that were received, dropped ones included.
    var requestBodyByteCount = 0
    var responseBodyByteCount = 0
    /// Whether the whole response was handed to the system to send.
    var isComplete = false
}

/// The responses of one connection that wait for its client: their bytes, and the exchanges that end once these are
/// sent.
struct SendQueue {
    /// A request whose response is written.
    struct Sent {
        let exchange: Exchange
        var outcome: Outcome
        /// The position in the output at which the response ends.
        let end: Int
    }

    /// Whole responses that wait for the client. Each holds the head of its request, which the access log needs.
    static let responsesMax = 64

    var output = OutputBuffer()
    /// The transport holds bytes that the socket did not accept.
    private var transportHasUnsentBytes = false
    private var isWritable = true
    /// The first and the others are apart, because there is seldom a second.
    private var first: Sent?
    private var others: Deque<Sent> = []
    private var headByteCount = 0

    /// Whether anything waits for the client.
    var isEmpty: Bool { output.isEmpty && !transportHasUnsentBytes }
    var canSend: Bool { isWritable && !isEmpty }
    /// The bytes of responses, and of the heads that wait with them.
    var heldByteCount: Int { output.ownCount + headByteCount }
    private var count: Int { (first == nil ? 0 : 1) + others.count }

    /// Whether the connection's next request must wait.
    func isFull(_ rules: ConnectionRules) -> Bool {
        output.count >= rules.outputHighWatermarkBytes || count >= Self.responsesMax
    }

    /// The response to the exchange is written.
    mutating func append(_ exchange: Exchange, _ outcome: Outcome) {
        let sent = Sent(exchange: exchange, outcome: outcome, end: output.end)
        headByteCount += exchange.headByteCount
        if first == nil { first = sent } else { others.append(sent) }
    }

    /// The next exchange whose whole response the system has accepted.
    mutating func popSent() -> Sent? {
        guard !transportHasUnsentBytes, let first, first.end <= output.sentTotal else { return nil }
        var sent = pop()
        sent?.outcome.isComplete = true
        return sent
    }

    /// The next exchange, sent or not.
    mutating func pop() -> Sent? {
        guard let first else { return nil }
        headByteCount -= first.exchange.headByteCount
        self.first = others.popFirst()
        if others.isEmpty { others = [] }
        return first
    }

    mutating func becameWritable() { isWritable = true }

    /// The transport accepted `count` bytes of the output.
    mutating func sent(_ count: Int) {
        if !output.remove(count) { isWritable = false }
    }

    /// The transport may also have bytes of its own, such as those of a handshake.
    mutating func update(transportHasUnsentBytes: Bool) {
        self.transportHasUnsentBytes = transportHasUnsentBytes
        if transportHasUnsentBytes { isWritable = false }
    }
}

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
