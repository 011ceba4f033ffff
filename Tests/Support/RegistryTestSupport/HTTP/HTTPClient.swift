import Basics

/// A pool of connections to one server: as many as there are concurrent requests.
public final class HTTPClient: Sendable {
    public let port: UInt16
    /// The longest idle one is the first.
    private let idle = Locked<[(connection: TestConnection, since: ContinuousClock.Instant)]>([])
    /// Less than the server's idle deadline: a connection that the server is about to close gets no request.
    private static let idleMax = Duration.seconds(45)

    public init(port: UInt16) {
        self.port = port
    }

    /// Sends a request on an idle or new connection.
    ///
    /// - Throws: `HTTPClientError`. A request is never sent twice: it fails if the server has just closed the
    ///   connection.
    public func response(to request: HTTPRequest) async throws(HTTPClientError) -> HTTPResponse {
        let connection = if let kept = takeIdle() { kept } else { try TestConnection(port: port) }
        let response = try await connection.response(to: request)
        if response["Connection"] != "close" { idle.withLock { $0.append((connection, .now)) } }
        return response
    }

    private func takeIdle() -> TestConnection? {
        idle.withLock { idle in
            idle.removeAll { $0.since.duration(to: .now) > Self.idleMax }
            return idle.popLast()?.connection
        }
    }

    /// Closes all idle connections, such as those to a stopped server.
    public func closeIdle() {
        idle.withLock { $0 = [] }
    }
}
