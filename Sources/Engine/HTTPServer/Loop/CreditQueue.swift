import Basics
import DequeModule

/// Lends bytes of memory. A value: it calls nobody, and returns the claims that it grants.
///
/// Networks (an IPv4 address or an IPv6 /64) take turns; the claims of one are granted in the order of their arrival. A
/// network that has its share waits until it gives some of it back. A claim whose turn has come waits until it fits,
/// and nobody overtakes it.
struct CreditQueue {
    /// A request for bytes, and the loan once it is granted. Used on its loop only.
    final class Claim: @unchecked Sendable {
        let bytes: Int
        let network: IPAddress
        /// To be told when the claim is granted after a wait.
        private(set) weak var connection: HTTPConnection?
        fileprivate var state = State.waiting

        var isGranted: Bool { state == .granted }

        fileprivate init(_ bytes: Int, _ network: IPAddress, _ connection: HTTPConnection?) {
            (self.bytes, self.network, self.connection) = (bytes, network, connection)
        }
    }

    fileprivate enum State {
        case waiting, granted, ended
    }

    private struct Network {
        var lent = 0
        /// In the order of arrival, with those that have ended meanwhile.
        var waiting: Deque<Claim> = []
        var endedCount = 0
        /// Whether it waits for its turn.
        var isInLine = false
    }

    private let bytesMax: Int
    private let networkBytesMax: Int
    private(set) var lent = 0
    private var networks: [IPAddress: Network] = [:]
    /// The networks that have claims and less than their share, the next one first.
    private var line: Deque<IPAddress> = []

    var waitingCount: Int { networks.values.reduce(0) { $0 + $1.waiting.count } }
    var networkCount: Int { networks.count }

    /// - Parameter networkBytesMax: the share of a network. Without a loan it gets one of any size.
    init(bytesMax: Int, networkBytesMax: Int) {
        (self.bytesMax, self.networkBytesMax) = (bytesMax, networkBytesMax)
    }

    /// Asks for bytes.
    ///
    /// - Returns: the claim, granted at once if there is room and nobody waits before it. Nil if it can never be
    ///   granted.
    mutating func claim(_ bytes: Int, of address: IPAddress, for connection: HTTPConnection? = nil) -> Claim? {
        guard bytes <= bytesMax else { return nil }
        let claim = Claim(bytes, address.network, connection)
        networks[claim.network, default: Network()].waiting.append(claim)
        enterLine(claim.network)
        _ = grantWaiting()
        return claim
    }

    /// Gives the loan back, or withdraws the claim.
    ///
    /// - Returns: the claims that are granted now.
    mutating func end(_ claim: Claim) -> [Claim] {
        switch claim.state {
        case .ended: return []
        case .waiting:
            networks[claim.network]?.endedCount += 1
            claim.state = .ended
            dropEnded(of: claim.network)
        case .granted:
            claim.state = .ended
            lent -= claim.bytes
            networks[claim.network]?.lent -= claim.bytes
            enterLine(claim.network)
        }
        return grantWaiting()
    }

    private mutating func enterLine(_ network: IPAddress) {
        guard let known = networks[network], !known.isInLine else { return }
        if known.waiting.isEmpty {
            if known.lent == 0 { networks[network] = nil }
        } else {
            networks[network]?.isInLine = true
            line.append(network)
        }
    }

    private mutating func grantWaiting() -> [Claim] {
        var granted: [Claim] = []
        while let address = line.first, var network = networks[address] {
            while network.waiting.first?.state == .ended {
                network.waiting.removeFirst()
                network.endedCount -= 1
            }
            let next = network.waiting.first
            let hasShare = next.map { network.lent > 0 && network.lent + $0.bytes > networkBytesMax } ?? false
            if let next, !hasShare {
                guard lent + next.bytes <= bytesMax else {
                    networks[address] = network
                    break
                }
                network.waiting.removeFirst()
                next.state = .granted
                lent += next.bytes
                network.lent += next.bytes
                granted.append(next)
            }
            // Its next claim waits until the other networks have had their turn.
            network.isInLine = false
            networks[address] = network
            line.removeFirst()
            if !hasShare { enterLine(address) }
        }
        return granted
    }

    /// Clients that come and go must not fill the memory that they wait for.
    private mutating func dropEnded(of address: IPAddress) {
        guard var network = networks[address], network.endedCount > network.waiting.count / 2 else { return }
        network.waiting.removeAll { $0.state == .ended }
        network.endedCount = 0
        networks[address] = network
    }
}
