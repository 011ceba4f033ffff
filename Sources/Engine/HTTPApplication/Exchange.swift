import Basics
import HTTPTypes
import HTTPWire

/// One request of a connection, from its head on.
package final class Exchange: Sendable {
    /// The producer of the response.
    package enum Target: Sendable {
        case endpoint(Endpoint, captures: PathCaptures)
        case options(allow: String)
        case problem(Problem)
    }

    /// Nil if the input was not a request.
    package let head: RequestHead?
    package let requestID: RequestID
    package let target: Target
    package let clientAddress: IPAddress
    /// When the head was complete.
    package let start: ContinuousClock.Instant

    package init(
        _ head: RequestHead?, requestID: RequestID, target: Target, clientAddress: IPAddress,
        start: ContinuousClock.Instant
    ) {
        self.head = head
        self.requestID = requestID
        self.target = target
        self.clientAddress = clientAddress
        self.start = start
    }

    package var endpoint: Endpoint? {
        if case .endpoint(let endpoint, _) = target { endpoint } else { nil }
    }

    /// The bytes of the head.
    package var headByteCount: Int { head?.heldByteCount ?? 0 }

    /// The largest body that is kept for the handler.
    package var bodyBytesMax: Int { endpoint?.bodyBytesMax ?? 0 }

    /// Whether its route checks heads.
    package var hasAdmission: Bool { endpoint?.admit != nil }

    package var expectsContinue: Bool { head?.expectsContinue ?? false }
}

/// A request's body, as the handler gets it.
package enum RequestContent: Sendable {
    case bytes([UInt8])
    /// It exceeds the route's limit and was dropped.
    case tooLarge
}
