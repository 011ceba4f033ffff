import Foundation

/// Many connections to one server, opened as they are needed and kept: as many as there are requests at a time.
public final class HTTPClient: @unchecked Sendable {
    public let port: UInt16
    private let lock = NSLock()
    private var idle: [HTTPConnection] = []

    public init(port: UInt16) {
        self.port = port
    }

    /// Sends a request on a connection that nobody else uses meanwhile.
    ///
    /// - Throws: `HTTPClientError`. It is never sent twice: the connection may be one that the server has just closed.
    public func response(to request: HTTPRequest) async throws(HTTPClientError) -> HTTPResponse {
        let connection = if let kept = takeIdle() { kept } else { try HTTPConnection(port: port) }
        let response = try await connection.response(to: request)
        if response["Connection"] != "close" { lock.withLock { idle.append(connection) } }
        return response
    }

    private func takeIdle() -> HTTPConnection? {
        lock.withLock { idle.popLast() }
    }

    /// Forgets all connections, such as those to a server that has gone.
    public func closeIdle() {
        lock.withLock { idle = [] }
    }
}
