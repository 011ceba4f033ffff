/// The idle connections of one loop, the longest idle first. The list is linked through the connections themselves, so
/// that inserting and removing are cheap. Used on its loop only.
///
/// It does not retain the connections: the server retains open ones, and a connection leaves the list when it closes.
final class IdleConnections: @unchecked Sendable {
    /// A connection's links to its neighbours in the list.
    struct Link {
        fileprivate(set) var isLinked = false
        fileprivate unowned(unsafe) var previous: HTTPConnection?
        fileprivate unowned(unsafe) var next: HTTPConnection?
    }

    private(set) unowned(unsafe) var longestIdle: HTTPConnection?
    private unowned(unsafe) var latest: HTTPConnection?

    func append(_ connection: HTTPConnection) {
        connection.idleLink.isLinked = true
        connection.idleLink.previous = latest
        if let latest { latest.idleLink.next = connection } else { longestIdle = connection }
        latest = connection
    }

    func remove(_ connection: HTTPConnection) {
        let link = connection.idleLink
        guard link.isLinked else { return }
        if let previous = link.previous { previous.idleLink.next = link.next } else { longestIdle = link.next }
        if let next = link.next { next.idleLink.previous = link.previous } else { latest = link.previous }
        connection.idleLink = Link()
    }
}
