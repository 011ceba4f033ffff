import Foundation

/// An HTTP request.
public struct HTTPRequest: Sendable {
    public var method: String
    public var path: String
    /// In the order of sending.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]?
    /// The field `Host`. Over plain HTTP, the console is served only by a name of this machine.
    public var host = "localhost"

    public init(_ method: String, _ path: String, fields: [(String, String)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.path = path
        self.fields = fields.map { (name: $0.0, value: $0.1) }
        self.body = body
    }

    /// The request on the wire, with `Host` and `Content-Length`.
    public var bytes: [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + (body ?? [])
    }
}

/// An HTTP response.
public struct HTTPResponse: Sendable {
    public let status: Int
    public let fields: [(name: String, value: String)]
    public let body: [UInt8]

    public init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// The first field of this name, ignoring case.
    public subscript(field: String) -> String? {
        fields.first { $0.name.caseInsensitiveCompare(field) == .orderedSame }?.value
    }

    /// The body as JSON; `.null` if it is not JSON.
    public var json: JSON { (try? JSON(parsing: body)) ?? .null }

    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The `code` of a problem document; nil for other bodies.
    public var code: String? { json["code"].string }

    /// The faults of a problem document as `pointer code` or `parameter code`.
    public var faults: [String] {
        json["errors"].array.map { fault in
            let location = fault["pointer"].string ?? fault["parameter"].string ?? "?"
            return "\(location) \(fault["code"].string ?? "?")"
        }
    }

    public var generation: Int64? { json["generation"].integer }
}

/// Why a request got no response.
public enum HTTPClientError: Error, Hashable, Sendable {
    case cannotConnect
    case timedOut
    /// The server closed the connection, cleanly or by a reset, before the response was complete.
    case closed
    case malformed(String)
}
