import HTTPWire

extension RequestHead {
    /// The parsed head of a GET request.
    static func make(target: String = "/", fields: [String] = []) throws -> RequestHead {
        let lines = ["GET \(target) HTTP/1.1", "Host: t"] + fields
        var parser = RequestParser()
        parser.append(Array(lines.map { "\($0)\r\n" }.joined().utf8) + Array("\r\n".utf8))
        guard case .head(let head)? = try parser.nextEvent() else { throw CancellationError() }
        return head
    }
}
