import HTTPTypes
import HTTPWire

/// One request of a connection and what has become of it so far. Belongs to its connection.
final class Exchange {
    /// What will answer the request.
    enum Answer {
        case endpoint(Endpoint, captures: [String])
        case options(allow: String)
        case problem(Problem)
    }

    let head: RequestHead
    let requestID: RequestID
    let answer: Answer
    let clientAddress: IPAddress
    let start: ContinuousClock.Instant
    var body: [UInt8] = []
    var bodyBytes = 0
    /// The body went beyond what the route keeps: the rest is dropped.
    var isBodyTooLarge = false
    var task: Task<Void, Never>?
    var status: HTTPResponse.Status?
    var responseBodyBytes = 0
    /// The encoder of a streamed answer, from its head to its end.
    var stream: ResponseBodyEncoder?

    init(
        _ head: RequestHead, requestID: RequestID, answer: Answer, clientAddress: IPAddress,
        start: ContinuousClock.Instant
    ) {
        self.head = head
        self.requestID = requestID
        self.answer = answer
        self.clientAddress = clientAddress
        self.start = start
    }

    /// The largest body that is kept.
    var bodyBytesMax: Int {
        if case .endpoint(let endpoint, _) = answer { endpoint.bodyBytesMax } else { 0 }
    }

    var routePattern: String? {
        if case .endpoint(let endpoint, _) = answer { endpoint.pattern } else { nil }
    }
}
