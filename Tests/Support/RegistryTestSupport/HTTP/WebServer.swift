import Basics
import EventLoop
import HTTPApplication
import HTTPServer
import HTTPTypes
import Logging

/// An HTTP server on a port of 127.0.0.1 with a response for each path, such as an identity provider with its key set.
public final class WebServer: Sendable {
    public struct Response: Sendable {
        public var status: Int
        public var fields: [(name: String, value: String)]
        public var body: [UInt8]
        /// Whether the response is never sent.
        public var isNeverSent = false

        public init(_ status: Int = 200, fields: [(String, String)] = [], body: String = "") {
            self.status = status
            self.fields = fields.map { (name: $0.0, value: $0.1) }
            self.body = Array(body.utf8)
        }

        public static var never: Response {
            var response = Response()
            response.isNeverSent = true
            return response
        }
    }

    private let loop = EventLoop(name: "web")
    private let server: HTTPServer
    private let state: State

    private final class State: Sendable {
        let responses = Locked<[String: Response]>([:])
        let requests = Locked(0)
    }

    public init(tls: TLSFiles? = nil) throws {
        let (state, loop) = (State(), loop)
        var configuration = HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: 0)])
        configuration.tls = tls
        let server = try HTTPServer(
            configuration, loops: [loop], logger: Logger(label: "web") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in
            let route = Route(.get, "/{path}") { request in
                state.requests.withLock { $0 += 1 }
                let response = state.responses.withLock { $0[request.parameters["path"]] } ?? Response(404)
                if response.isNeverSent { try await loop.sleep(for: .seconds(60)) }
                var fields = HTTPFields()
                for (name, value) in response.fields {
                    if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
                }
                return ServerResponse(.init(code: response.status), fields: fields, body: .bytes(response.body))
            }
            return Application(router: Router([route]))
        }
        (self.server, self.state) = (server, state)
        Task { await server.run() }
    }

    deinit {
        server.abort()
        loop.stop()
    }

    public var port: UInt16 { server.port }

    /// The number of received requests.
    public var requests: Int { state.requests.withLock { $0 } }

    /// `http://127.0.0.1:port/path`.
    public func url(_ path: String, scheme: String = "http") -> String { "\(scheme)://127.0.0.1:\(port)/\(path)" }

    /// Sets the response for a path; paths without one respond with 404.
    public func setResponse(_ path: String, _ response: Response) {
        state.responses.withLock { $0[path] = response }
    }
}
