import Basics
import Foundation
import Glibc
import Synchronization

/// Listens on a Unix socket in front of a PostgreSQL server and connects each client to the server. Its owner
/// passes the bytes.
///
/// It listens in its own folder under the server's port number.
public final class PostgresProxy: Sendable {
    public let connectionString: String
    private let folder: String
    private let target: String
    private let listener: CInt
    private let sessions = Locked<[ProxiedSession]>([])

    /// - Parameters:
    ///   - connectionString: keywords, with the folder of the server's socket as `host`.
    ///   - begin: is called with each session. It returns what passes the bytes from the client, or those from the
    ///     server, until the session ends; each of the two calls has its own thread.
    public init(
        _ connectionString: String,
        begin: @escaping @Sendable (ProxiedSession) -> @Sendable (_ isFromClient: Bool) -> Void
    ) throws {
        let words = connectionString.split(separator: " ")
        let host = words.first { $0.hasPrefix("host=") }!.dropFirst(5).filter { $0 != "'" }
        let port = words.first { $0.hasPrefix("port=") }.map { $0.dropFirst(5).filter { $0 != "'" } } ?? "5432"
        let folder = "/tmp/proxy-\(UUID().uuidString.prefix(8))"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        target = "\(host)/.s.PGSQL.\(port)"
        self.connectionString = words.map { $0.hasPrefix("host=") ? "host=\(folder)" : String($0) }.joined(
            separator: " ")
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        let listening = Self.withAddress("\(folder)/.s.PGSQL.\(port)") { bind(listener, $0, $1) } == 0
        guard listening, listen(listener, 64) == 0 else { throw CocoaError(.fileWriteUnknown) }
        Thread.detachNewThread { self.accept(begin) }
    }

    /// Cuts all sessions and accepts no others.
    public func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
        for session in open { session.cut() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The sessions that have not ended, the oldest first.
    public var open: [ProxiedSession] { sessions.withLock { $0 } }

    private func accept(_ begin: @Sendable (ProxiedSession) -> @Sendable (Bool) -> Void) {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { break }
            let server = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
            guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
                close(client)
                close(server)
                continue
            }
            let session = ProxiedSession(client, server)
            sessions.withLock { $0.append(session) }
            let pass = begin(session)
            for isFromClient in [true, false] {
                Thread.detachNewThread { [self] in
                    pass(isFromClient)
                    sessions.withLock { sessions in sessions.removeAll { $0 === session } }
                }
            }
        }
        close(listener)
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}

/// The two connections of one session. They are closed when nothing uses them any more.
public final class ProxiedSession: @unchecked Sendable {
    public let client: CInt
    public let server: CInt
    /// Guards the variables below.
    private let condition = NSCondition()
    private var isHeldBack = false
    private var isCut = false

    fileprivate init(_ client: CInt, _ server: CInt) {
        (self.client, self.server) = (client, server)
    }

    deinit {
        close(client)
        close(server)
    }

    /// Whether bytes wait in the proxy.
    public var isStalled: Bool {
        get { condition.withLock { isHeldBack } }
        set {
            condition.withLock { isHeldBack = newValue }
            condition.broadcast()
        }
    }

    /// Ends both connections, possibly in the middle of a message.
    public func cut() {
        condition.withLock { isCut = true }
        condition.broadcast()
        shutdown(client, CInt(SHUT_RDWR))
        shutdown(server, CInt(SHUT_RDWR))
    }

    /// **Blocks** while the session is stalled.
    ///
    /// - Returns: false after a cut.
    func waitWhileStalled() -> Bool {
        condition.withLock {
            while isHeldBack, !isCut { condition.wait() }
            return !isCut
        }
    }
}

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
