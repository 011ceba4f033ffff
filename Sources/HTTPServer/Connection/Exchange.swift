import HTTPTypes
import HTTPWire

/// One request of a connection, from its head until its response is sent, or the client is gone. Used on its loop
/// only; what a handler reads of it (`ServerRequest`) does not change any more when the handler begins.
final class Exchange: @unchecked Sendable {
    /// What makes the response.
    enum Target {
        case endpoint(Endpoint, captures: [String])
        case options(allow: String)
        case problem(Problem)
    }

    /// Nil if what came was no request.
    let head: RequestHead?
    let requestID: RequestID
    let target: Target
    let clientAddress: IPAddress
    /// When the head was complete.
    let start: ContinuousClock.Instant

    var body: [UInt8] = []
    /// The bytes of the body so far, those that were dropped included.
    var bodyByteCount = 0
    /// The body went beyond what the route keeps: the rest is dropped.
    var isBodyTooLarge = false
    /// The route has judged the head, or has nothing to judge.
    var isAdmitted: Bool

    /// Nil until the head of the response is written.
    var status: HTTPResponse.Status?
    var responseBodyByteCount = 0
    /// Whether all of the response was handed to the system to send.
    var isComplete = false
    /// Where the response ends in the connection's output.
    var outputEnd = 0
    /// The exchange whose response follows in the connection's output.
    var following: Exchange?

    /// The task that runs the handler, while it does.
    private var task: UnsafeCurrentTask?
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

    /// The largest body that is kept.
    var bodyBytesMax: Int { endpoint?.bodyBytesMax ?? 0 }
}

// MARK: - Cancellation

extension Exchange {
    /// Runs `body` as the handler that `cancel` cancels.
    func running(in task: UnsafeCurrentTask, _ body: () async -> Void) async {
        self.task = task
        await body()
        self.task = nil
    }

    /// The handler, if it runs or is about to, runs in vain.
    func cancel() {
        isCancelled = true
        task?.cancel()
    }
}
