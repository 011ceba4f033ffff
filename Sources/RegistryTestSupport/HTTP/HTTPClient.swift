import Foundation

/// A pool of connections to one server: as many as there are concurrent requests.
public final class HTTPClient: @unchecked Sendable {
    public let port: UInt16
    private let lock = NSLock()
    private var idle: [HTTPConnection] = []

    public init(port: UInt16) {
        self.port = port
    }

    /// Sends a request on an idle or new connection.
    ///
    /// - Throws: `HTTPClientError`. A request is never sent twice: it fails if the server has just closed the
    ///   connection.
    public func response(to request: HTTPRequest) async throws(HTTPClientError) -> HTTPResponse {
        let connection = if let kept = takeIdle() { kept } else { try HTTPConnection(port: port) }
        let response = try await connection.response(to: request)
        if response["Connection"] != "close" { lock.withLock { idle.append(connection) } }
        return response
    }

    private func takeIdle() -> HTTPConnection? {
        lock.withLock { idle.popLast() }
    }

    /// Closes all idle connections, such as those to a stopped server.
    public func closeIdle() {
        lock.withLock { idle = [] }
    }
}
