/// Connections of one loop in the order in which they entered, linked through the connections themselves, so that
/// entering and leaving are cheap. A connection is in one list at most. Used on its loop only.
///
/// It does not retain the connections: the server retains open ones, and a connection leaves its list when it closes.
final class ConnectionList: @unchecked Sendable {
    /// A connection's links to its neighbours in the list.
    struct Link {
        fileprivate(set) unowned(unsafe) var list: ConnectionList?
        fileprivate unowned(unsafe) var previous: HTTPConnection?
        fileprivate unowned(unsafe) var next: HTTPConnection?
    }

    private(set) unowned(unsafe) var first: HTTPConnection?
    private(set) unowned(unsafe) var last: HTTPConnection?

    func append(_ connection: HTTPConnection) {
        connection.link.list = self
        connection.link.previous = last
        if let last { last.link.next = connection } else { first = connection }
        last = connection
    }

    /// Removes the connection from its list, if it is in one.
    static func remove(_ connection: HTTPConnection) { connection.link.list?.remove(connection) }

    private func remove(_ connection: HTTPConnection) {
        let link = connection.link
        if let previous = link.previous { previous.link.next = link.next } else { first = link.next }
        if let next = link.next { next.link.previous = link.previous } else { last = link.previous }
        connection.link = Link()
    }
}
