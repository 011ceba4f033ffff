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
