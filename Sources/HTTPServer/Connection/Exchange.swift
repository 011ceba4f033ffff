import HTTPTypes
import HTTPWire

/// One request of a connection, from its head on.
final class Exchange: Sendable {
    /// The producer of the response.
    enum Target: Sendable {
        case endpoint(Endpoint, captures: PathCaptures)
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

    init(
        _ head: RequestHead?, requestID: RequestID, target: Target, clientAddress: IPAddress,
        start: ContinuousClock.Instant
    ) {
        self.head = head
        self.requestID = requestID
        self.target = target
        self.clientAddress = clientAddress
        self.start = start
    }

    var endpoint: Endpoint? {
        if case .endpoint(let endpoint, _) = target { endpoint } else { nil }
    }

    /// The bytes of the head.
    var headByteCount: Int { head?.heldByteCount ?? 0 }

    /// The largest body that is kept for the handler.
    var bodyBytesMax: Int { endpoint?.bodyBytesMax ?? 0 }

    /// Whether its route checks heads.
    var hasAdmission: Bool { endpoint?.admit != nil }

    var expectsContinue: Bool { head?.expectsContinue ?? false }
}

/// A request's body, as the handler gets it.
enum RequestContent: Sendable {
    case bytes([UInt8])
    /// It exceeds the route's limit and was dropped.
    case tooLarge
}

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
