import Foundation

extension PushRegistryClient {
    /// One request to the registry.
    ///
    /// Its printed form has neither the credential nor the body, because both are secrets.
    public struct Request: Sendable, Hashable, CustomStringConvertible {
        public var method: String
        public var url: URL
        /// Header fields by their names in the usual case, such as `If-Match`.
        public var fields: [String: String]
        public var body: Data?

        public init(_ method: String, _ url: URL, fields: [String: String] = [:], body: Data? = nil) {
            self.method = method
            self.url = url
            self.fields = fields
            self.body = body
        }

        public var description: String { "\(method) \(url.path)" }
    }

    /// A response of the registry, with any status.
    public struct Response: Sendable, Hashable, CustomStringConvertible {
        public var status: Int
        /// Header fields by their names in lower case.
        public var fields: [String: String]
        public var body: Data

        public init(status: Int, fields: [String: String] = [:], body: Data = Data()) {
            self.status = status
            self.fields = Dictionary(fields.map { ($0.key.lowercased(), $0.value) }) { $1 }
            self.body = body
        }

        public var description: String { "\(status)" }
    }

    /// Sends requests.
    public protocol Transport: Sendable {
        /// - Returns: the response, with any status.
        /// - Throws: if there was no response.
        func send(_ request: Request) async throws -> Response
    }
}

extension PushRegistryClient.Response {
    var isSuccess: Bool { (200..<300).contains(status) }

    /// Whether the request must be repeated later: after a timeout, too many requests, a fault of the server, or a
    /// redirect (captive portals send redirects, the registry never does).
    var asksForRetry: Bool { status == 408 || status == 429 || status >= 500 || (300..<400).contains(status) }

    var problem: PushRegistryClient.Problem {
        let decoded = try? JSONDecoder().decode(PushRegistryClient.Problem.self, from: body)
        return decoded ?? PushRegistryClient.Problem(status: status, code: "no-problem-document")
    }
}
