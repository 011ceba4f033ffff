import Glibc
import Synchronization

/// A proxy in front of a PostgreSQL server that can cut, stall and resume sessions one by one, and drop all bytes.
public final class CuttingProxy: Sendable {
    private let proxy: PostgresProxy
    private let isDropping: DroppingSwitch

    public var connectionString: String { proxy.connectionString }

    /// - Parameter connectionString: keywords, with the folder of the server's socket as `host`.
    public init(_ connectionString: String) throws {
        let isDropping = DroppingSwitch()
        self.isDropping = isDropping
        proxy = try PostgresProxy(connectionString) { session in
            { session.pass(fromClient: $0) { isDropping.isOn.load(ordering: .relaxed) } }
        }
    }

    public func stop() { proxy.stop() }

    /// Cuts every session, possibly in the middle of a message.
    public func cut() {
        for session in proxy.open { session.cut() }
    }

    /// Cuts one of the sessions.
    ///
    /// - Parameter pick: any number; it chooses the same of the same sessions.
    public func cut(_ pick: Int) { session(pick)?.cut() }

    /// Holds the bytes of one session back until ``resume()``.
    public func stall(_ pick: Int) { session(pick)?.isStalled = true }

    /// Lets all stalled sessions go on, one after another.
    ///
    /// - Parameter isReversed: the youngest first.
    public func resume(isReversed: Bool = false) {
        let sessions = proxy.open
        for session in isReversed ? sessions.reversed() : sessions { session.isStalled = false }
    }

    /// Drops all bytes from now on, like a broken network.
    public func dropBytes() { isDropping.isOn.store(true, ordering: .relaxed) }

    private func session(_ pick: Int) -> ProxiedSession? {
        let sessions = proxy.open
        return sessions.isEmpty ? nil : sessions[pick % sessions.count]
    }
}

private final class DroppingSwitch: Sendable {
    let isOn = Atomic(false)
}

extension ProxiedSession {
    /// A cut loses the bytes that a stall held back; the end of one side loses none.
    fileprivate func pass(fromClient: Bool, isDropping: () -> Bool) {
        let (from, to) = fromClient ? (client, server) : (server, client)
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0, waitWhileStalled() else { break }
            if isDropping() { continue }
            guard send(to, buffer, count, CInt(MSG_NOSIGNAL)) == count else { break }
        }
        if waitWhileStalled() { shutdown(to, CInt(SHUT_WR)) }
        shutdown(from, CInt(SHUT_RD))
        if !fromClient { cut() }
    }
}
