import Basics
import EventLoop
import HTTPApplication
import HTTPServer
import HTTPTypes
import HTTPWire
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

    /// Responds to a POST by its body and its field `Authorization`.
    public typealias PostHandler = @Sendable (_ body: String, _ authorization: String?) -> Response

    private final class State: Sendable {
        let responses = Locked<[String: Response]>([:])
        let posts = Locked<PostHandler?>(nil)
        let requests = Locked(0)
    }

    public init(tls: TLSFiles? = nil) throws {
        let (state, loop) = (State(), loop)
        var configuration = HTTPServerConfiguration(addresses: [ListenAddress(host: "127.0.0.1", port: 0)])
        configuration.tls = tls
        let server = try HTTPServer(
            configuration, loops: [loop], logger: Logger(label: "web") { _ in SwiftLogNoOpLogHandler() }
        ) { _ in
            @Sendable func send(_ response: Response) async throws -> ServerResponse {
                state.requests.withLock { $0 += 1 }
                if response.isNeverSent { try await loop.sleep(for: .seconds(60)) }
                var fields = HTTPFields()
                for (name, value) in response.fields {
                    if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
                }
                return ServerResponse(.init(code: response.status), fields: fields, body: .bytes(response.body))
            }
            let gets = ["", ".well-known/"].map { folder in
                Route(.get, "/\(folder){path}") { request in
                    let path = folder + request.parameters["path"]
                    return try await send(state.responses.withLock { $0[path] } ?? Response(404))
                }
            }
            let post = Route(.post, "/{path}", bodyBytesMax: 64 * 1_024) { request in
                let body = String(decoding: try request.body, as: UTF8.self)
                let respond = state.posts.withLock { $0 }
                return try await send(respond?(body, request.head[.authorization]) ?? Response(404))
            }
            return Application(router: Router(gets + [post]))
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

    /// Sets the response to POSTs; without, they get 404.
    public func setPostHandler(_ respond: @escaping PostHandler) { state.posts.withLock { $0 = respond } }

    /// Sets the response for a path; paths without one respond with 404.
    public func setResponse(_ path: String, _ response: Response) {
        state.responses.withLock { $0[path] = response }
    }
}
