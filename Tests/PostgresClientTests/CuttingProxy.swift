import Foundation
import Glibc
import Locking

/// A proxy on a Unix socket in front of a server. It can cut all connections, or stop passing bytes.
///
/// It listens in its own folder under the server's port number. Two threads per connection.
final class CuttingProxy: Sendable {
    private struct State {
        var descriptors: [CInt] = []
        var isDropping = false
    }

    let connectionString: String
    private let folder: String
    private let target: String
    private let listener: CInt
    private let state = Locked(State())

    /// - Parameter connectionString: keywords, with the folder of the server's socket as `host`.
    init(_ connectionString: String) throws {
        let words = connectionString.split(separator: " ")
        let host = words.first { $0.hasPrefix("host=") }!.dropFirst(5).filter { $0 != "'" }
        let port = words.first { $0.hasPrefix("port=") }.map { $0.dropFirst(5).filter { $0 != "'" } } ?? "5432"
        let folder = "/tmp/cutting-proxy-\(UUID().uuidString.prefix(8))"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        target = "\(host)/.s.PGSQL.\(port)"
        self.connectionString = words.map { $0.hasPrefix("host=") ? "host=\(folder)" : String($0) }.joined(
            separator: " ")
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        let listening = Self.withAddress("\(folder)/.s.PGSQL.\(port)") { bind(listener, $0, $1) } == 0
        guard listening, listen(listener, 64) == 0 else { throw CocoaError(.fileWriteUnknown) }
        Thread.detachNewThread { self.accept() }
    }

    func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
        cut()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Cuts every connection, possibly in the middle of a message.
    func cut() {
        state.withLock { state in
            for descriptor in state.descriptors { shutdown(descriptor, CInt(SHUT_RDWR)) }
            state.descriptors.removeAll()
        }
    }

    /// Drops all bytes from now on, like a broken network.
    func dropBytes() {
        state.withLock { $0.isDropping = true }
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            let server = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
            guard Self.withAddress(target, { connect(server, $0, $1) }) == 0 else {
                close(client)
                close(server)
                continue
            }
            state.withLock { $0.descriptors += [client, server] }
            Thread.detachNewThread { self.pass(client, server) }
            Thread.detachNewThread { self.pass(server, client) }
        }
    }

    private func pass(_ from: CInt, _ to: CInt) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            if state.withLock({ $0.isDropping }) { continue }
            guard send(to, buffer, count, CInt(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(from, CInt(SHUT_RDWR))
        shutdown(to, CInt(SHUT_RDWR))
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
