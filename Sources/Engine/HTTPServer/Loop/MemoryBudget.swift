import Basics

/// The memory of one loop for requests and responses. Used on its loop only.
///
/// Each connection may hold `heldBytesFree` of a request. For more it claims bytes, which it has until its response is
/// written. Responses are charged, and never refused: if too much waits for clients, the slowest reader is
/// disconnected. So a caller's upload waits neither for strangers nor for readers, and each of the three has an end.
final class MemoryBudget: @unchecked Sendable {
    /// Whose bytes a claim is for.
    enum Party {
        /// A request that its route has admitted.
        case caller
        /// A head, and a body that any client may send.
        case stranger
    }

    /// A claim, granted or not, and whose it is.
    struct Loan {
        let claim: CreditQueue.Claim
        let party: Party

        init(_ claim: CreditQueue.Claim, _ party: Party) { (self.claim, self.party) = (claim, party) }
    }

    private var callers: CreditQueue
    private var strangers: CreditQueue
    private let unsentBytesMax: Int
    private var unsentByteCount = 0
    /// Connections with more unsent bytes than `heldBytesFree`: first the one that has sent nothing for longest.
    let readers = ConnectionList()

    /// - Parameter bytesMax: what callers may hold. Strangers may hold a quarter of that, and responses half.
    init(bytesMax: Int) {
        callers = CreditQueue(bytesMax: bytesMax, networkBytesMax: bytesMax / 4 * 3)
        strangers = CreditQueue(bytesMax: bytesMax / 4, networkBytesMax: bytesMax / 16)
        unsentBytesMax = bytesMax / 2
    }

    /// Asks for bytes. A grant that comes later is in the result of `giveBack`. Nil if the claim can never be granted.
    func claim(
        _ bytes: Int, of address: IPAddress, as party: Party, for connection: HTTPConnection?
    ) -> CreditQueue.Claim? {
        switch party {
        case .caller: callers.claim(bytes, of: address, for: connection)
        case .stranger: strangers.claim(bytes, of: address, for: connection)
        }
    }

    /// Gives the bytes of a claim back, or withdraws it.
    ///
    /// - Returns: the claims that are granted now.
    func giveBack(_ loan: Loan) -> [CreditQueue.Claim] {
        switch loan.party {
        case .caller: callers.end(loan.claim)
        case .stranger: strangers.end(loan.claim)
        }
    }

    /// Changes the unsent bytes of a connection.
    func chargeUnsent(before: Int, now: Int) { unsentByteCount += now - before }

    /// Streams must hold less, so that fewer readers are disconnected.
    var isUnsentHigh: Bool { unsentByteCount > unsentBytesMax / 2 }

    /// The connection to disconnect, while too much is unsent. A single reader may have a response of any size.
    var slowestReader: HTTPConnection? {
        unsentByteCount > unsentBytesMax && readers.first !== readers.last ? readers.first : nil
    }
}

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
