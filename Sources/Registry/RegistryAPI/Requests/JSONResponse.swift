import HTTPApplication
import HTTPTypes
import PushRegistry
import StrictJSON

extension ServerResponse {
    static func json(
        _ writer: JSONWriter, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]
    ) -> ServerResponse {
        var fields = fields
        fields[.contentType] = "application/json"
        return ServerResponse(status, fields: fields, body: .bytes(writer.bytes))
    }

    /// An object with the members that `members` writes.
    ///
    /// - Parameter capacity: the expected number of bytes.
    static func json(
        capacity: Int = 512, status: HTTPResponse.Status = .ok, fields: HTTPFields = [:],
        _ members: (inout JSONWriter) throws -> Void
    ) rethrows -> ServerResponse {
        .json(try JSONWriter(capacity: capacity, members), status: status, fields: fields)
    }
}

extension JSONWriter {
    /// Writes an object with the members that `members` writes.
    init(capacity: Int = 512, _ members: (inout JSONWriter) throws -> Void) rethrows {
        self.init(capacity: capacity)
        try object(members)
    }

    /// A member whose value is an object.
    mutating func object(_ name: StaticString, _ members: (inout JSONWriter) throws -> Void) rethrows {
        self.name(name)
        try object(members)
    }

    /// A member whose value is an array. `write` writes the value of each element.
    mutating func array<Elements: Sequence>(
        _ name: StaticString, _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        self.name(name)
        try array { writer in
            for element in elements { try write(&writer, element) }
        }
    }

    /// A member whose value is an array of objects. `members` writes the members of each.
    mutating func objects<Elements: Sequence>(
        _ name: StaticString, _ elements: Elements, _ members: (inout JSONWriter, Elements.Element) throws -> Void
    ) rethrows {
        try array(name, elements) { writer, element in try writer.object { try members(&$0, element) } }
    }

    /// `keys` of a Web Push subscription; `null` if there are none.
    mutating func member(_ keys: WebPushKeys?) {
        name("keys")
        guard let keys else { return null() }
        object { writer in
            writer.member("p256dh", keys.p256dh)
            writer.member("auth", keys.auth)
        }
    }
}
