/// The idle connections of one loop, the longest idle first: a list through the connections themselves, so that
/// entering and leaving it costs next to nothing. Used on its loop only.
///
/// It does not hold the connections: an open one is held by its server, and one that closes leaves the list.
final class IdleConnections: @unchecked Sendable {
    /// Where a connection stands in the list.
    struct Place {
        fileprivate(set) var isTaken = false
        fileprivate unowned(unsafe) var previous: HTTPConnection?
        fileprivate unowned(unsafe) var next: HTTPConnection?
    }

    private(set) unowned(unsafe) var longestIdle: HTTPConnection?
    private unowned(unsafe) var latest: HTTPConnection?

    func append(_ connection: HTTPConnection) {
        connection.idlePlace.isTaken = true
        connection.idlePlace.previous = latest
        if let latest { latest.idlePlace.next = connection } else { longestIdle = connection }
        latest = connection
    }

    func remove(_ connection: HTTPConnection) {
        let place = connection.idlePlace
        guard place.isTaken else { return }
        if let previous = place.previous { previous.idlePlace.next = place.next } else { longestIdle = place.next }
        if let next = place.next { next.idlePlace.previous = place.previous } else { latest = place.previous }
        connection.idlePlace = Place()
    }
}
