import HTTPTypes
import HTTPWire

/// One request of a connection, from its head until its response is sent or the client is gone. Used on its loop only.
/// The parts that a handler reads (`ServerRequest`) do not change while the handler runs.
final class Exchange: @unchecked Sendable {
    /// The producer of the response.
    enum Target {
        case endpoint(Endpoint, captures: [String])
        case options(allow: String)
        case problem(Problem)
    }

    /// Nil if the input was not a request.
    let head: RequestHead?
    let requestID: RequestID
    let target: Target
    let clientAddress: IPAddress
    /// When the head was complete.
    let start: ContinuousClock.Instant

    /// Empty again once the response is written.
    var body: [UInt8] = []
    /// The bytes of the body received so far, dropped ones included.
    var bodyByteCount = 0
    /// The body exceeds the route's limit: the rest is dropped.
    var isBodyTooLarge = false
    /// The route has accepted the head, or accepts every head.
    var isAdmitted: Bool

    /// Nil until the head of the response is written.
    var status: HTTPResponse.Status?
    var responseBodyByteCount = 0
    /// Whether the whole response was handed to the system to send.
    var isComplete = false
    /// The position in the connection's output where the response ends.
    var outputEnd = 0
    /// The next exchange whose response is being sent.
    var following: Exchange?

    /// The task that runs the handler, while the handler runs.
    var task: UnsafeCurrentTask?
    private(set) var isCancelled = false

    init(
        _ head: RequestHead?, requestID: RequestID, target: Target, clientAddress: IPAddress,
        start: ContinuousClock.Instant
    ) {
        self.head = head
        self.requestID = requestID
        self.target = target
        self.clientAddress = clientAddress
        self.start = start
        if case .endpoint(let endpoint, _) = target { isAdmitted = endpoint.admit == nil } else { isAdmitted = true }
    }

    var endpoint: Endpoint? {
        if case .endpoint(let endpoint, _) = target { endpoint } else { nil }
    }

    /// The bytes of the request that it holds.
    var heldByteCount: Int { (head?.heldByteCount ?? 0) + body.count }

    /// The largest body that is kept for the handler.
    var bodyBytesMax: Int { endpoint?.bodyBytesMax ?? 0 }
}

// MARK: - Cancellation

extension Exchange {
    /// Cancels the handler, whether it runs or is about to.
    func cancel() {
        isCancelled = true
        task?.cancel()
    }
}
