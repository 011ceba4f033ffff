import EventLoop
import HTTPServer
import HTTPTypes
import Logging
import Synchronization

/// A server on a port of 127.0.0.1 that gives every path the answer that the test chose, such as an identity provider
/// with its key set.
public final class WebServer: Sendable {
    public struct Answer: Sendable {
        public var status: Int
        public var fields: [(name: String, value: String)]
        public var body: [UInt8]
        /// Whether the answer never comes.
        public var isHeldBack = false

        public init(_ status: Int = 200, fields: [(String, String)] = [], body: String = "") {
            self.status = status
            self.fields = fields.map { (name: $0.0, value: $0.1) }
            self.body = Array(body.utf8)
        }

        public static var never: Answer {
            var answer = Answer()
            answer.isHeldBack = true
            return answer
        }
    }

    private let loop = EventLoop(name: "web")
    private let server: HTTPServer
    private let state: State

    private final class State: Sendable {
        let answers = Mutex<[String: Answer]>([:])
        let requests = Mutex(0)
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
                let answer = state.answers.withLock { $0[request.parameters["path"]] } ?? Answer(404)
                if answer.isHeldBack { try await loop.sleep(for: .seconds(60)) }
                var fields = HTTPFields()
                for (name, value) in answer.fields {
                    if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
                }
                return ServerResponse(.init(code: answer.status), fields: fields, body: .bytes(answer.body))
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

    /// How many requests it has had.
    public var requests: Int { state.requests.withLock { $0 } }

    /// `http://127.0.0.1:port/path`.
    public func url(_ path: String, scheme: String = "http") -> String { "\(scheme)://127.0.0.1:\(port)/\(path)" }

    /// Sets the answer of a path from now on; without one it is a 404.
    public func answer(_ path: String, _ answer: Answer) {
        state.answers.withLock { $0[path] = answer }
    }
}
