/// The idle connections of one loop, the longest idle first. The list is linked through the connections themselves, so
/// that inserting and removing are cheap. Used on its loop only.
///
/// It does not retain the connections: the server retains open ones, and a connection leaves the list when it closes.
final class IdleConnections: @unchecked Sendable {
    /// A connection's links to its neighbours in the list.
    struct Link {
        fileprivate unowned(unsafe) var list: IdleConnections?
        fileprivate unowned(unsafe) var previous: HTTPConnection?
        fileprivate unowned(unsafe) var next: HTTPConnection?

        var isLinked: Bool { list != nil }
    }

    private(set) unowned(unsafe) var longestIdle: HTTPConnection?
    private unowned(unsafe) var latest: HTTPConnection?

    func append(_ connection: HTTPConnection) {
        connection.idleLink.list = self
        connection.idleLink.previous = latest
        if let latest { latest.idleLink.next = connection } else { longestIdle = connection }
        latest = connection
    }

    /// Removes the connection from its list, if it has one.
    static func remove(_ connection: HTTPConnection) { connection.idleLink.list?.remove(connection) }

    private func remove(_ connection: HTTPConnection) {
        let link = connection.idleLink
        if let previous = link.previous { previous.idleLink.next = link.next } else { longestIdle = link.next }
        if let next = link.next { next.idleLink.previous = link.previous } else { latest = link.previous }
        connection.idleLink = Link()
    }
}
