import Foundation
import Glibc
import Locking
import Synchronization

/// A proxy on a Unix socket in front of PostgreSQL that stops each statement at a gate, also within a pipeline:
/// <https://www.postgresql.org/docs/15/protocol-message-formats.html>. Statements that only begin a transaction, roll
/// it back or change a setting pass.
///
/// A statement stops before its Bind, because Bind takes the snapshot of a query. A unit outside a transaction block
/// that writes stops once more before its Sync, which commits. Two threads per connection.
final class SteppingProxy: Sendable {
    /// A part of a unit for which the server sends a response.
    private struct Part {
        enum End {
            /// CommandComplete.
            case command
            /// ReadyForQuery.
            case ready
        }

        let end: End
        let isStep: Bool
    }

    private struct Unit {
        var parts: [Part] = []
        /// The server skips the rest of the unit.
        var hasFailed = false
        /// Of the statement that copies, and of its end. Then the server ignores the Sync that follows the statement.
        var copyEnd = Part.End.command
        var isCopying = false
    }

    private static let passed = [
        "BEGIN", "ROLLBACK", "SET ", "RESET ", "SHOW ", "DEALLOCATE", "SELECT SET_CONFIG",
    ]
    private static let sessionCount = Atomic<Int>(0)

    let connectionString: String
    private let folder: String
    private let target: String
    private let listener: CInt
    private let descriptors = Locked<[CInt]>([])
    private let gate: StepGate
    private let caller: Int

    /// - Parameter connectionString: keywords, with the folder of the server's socket as `host`.
    init(_ connectionString: String, of caller: Int, through gate: StepGate) throws {
        (self.caller, self.gate) = (caller, gate)
        let words = connectionString.split(separator: " ")
        let host = words.first { $0.hasPrefix("host=") }!.dropFirst(5).filter { $0 != "'" }
        let port = words.first { $0.hasPrefix("port=") }.map { $0.dropFirst(5).filter { $0 != "'" } } ?? "5432"
        let folder = FileManager.default.temporaryDirectory.path + "/steps-\(UUID().uuidString.prefix(8))"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        target = "\(host)/.s.PGSQL.\(port)"
        self.connectionString = words.map { $0.hasPrefix("host=") ? "host=\(folder)" : String($0) }
            .joined(separator: " ")
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        let listening = Self.withAddress("\(folder)/.s.PGSQL.\(port)") { bind(listener, $0, $1) } == 0
        guard listening, listen(listener, 64) == 0 else { throw CocoaError(.fileWriteUnknown) }
        Thread.detachNewThread { self.accept() }
    }

    func stop() {
        shutdown(listener, CInt(SHUT_RDWR))
        for descriptor in descriptors.withLock({ $0 }) { shutdown(descriptor, CInt(SHUT_RDWR)) }
        try? FileManager.default.removeItem(atPath: folder)
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
            descriptors.withLock { $0 += [client, server] }
            let session = Self.sessionCount.add(1, ordering: .relaxed).newValue
            gate.opened(session, of: caller)
            let unit = SharedUnit()
            Thread.detachNewThread {
                self.passRequests(Frames(client), server, session, unit)
                shutdown(client, CInt(SHUT_RDWR))
                shutdown(server, CInt(SHUT_RDWR))
            }
            Thread.detachNewThread {
                self.passResponses(Frames(server), client, session, unit)
                shutdown(client, CInt(SHUT_RDWR))
                shutdown(server, CInt(SHUT_RDWR))
                self.gate.closed(session)
            }
        }
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }

    private final class SharedUnit: Sendable {
        let state = Locked(Unit())

        var hasFailed: Bool { state.withLock { $0.hasFailed } }

        func add(_ end: Part.End, isStep: Bool) {
            state.withLock { unit in
                if !unit.hasFailed { unit.parts.append(Part(end: end, isStep: isStep)) }
            }
        }
    }
}

// MARK: - From the client

extension SteppingProxy {
    private func passRequests(_ client: Frames, _ server: CInt, _ session: Int, _ unit: SharedUnit) {
        guard let startup = client.next(hasType: false), Frames.send(startup, to: server) else { return }
        var texts: [String: String] = [:]
        var isInBlock = false
        var writes = false
        var last = ""
        func stop(before text: String, _ end: Part.End) {
            last = text
            let words = text.prefix(24).uppercased()
            if words.hasPrefix("BEGIN") { isInBlock = true }
            let isPassed = Self.passed.contains(where: words.hasPrefix)
            if !isPassed { writes = writes || !Footprint.of(text).written.isEmpty }
            if words.hasPrefix("COMMIT") || words.hasPrefix("ROLLBACK") { (isInBlock, writes) = (false, false) }
            let isStep = !isPassed && gate.arrive(session, text, unless: { unit.hasFailed })
            unit.add(end, isStep: isStep)
        }
        while let frame = client.next() {
            switch UInt8(frame[0]) {
            case UInt8(ascii: "P"):
                let name = Frames.string(frame, at: 5)
                texts[name.text] = Frames.string(frame, at: name.end).text
            case UInt8(ascii: "B"):
                let name = Frames.string(frame, at: Frames.string(frame, at: 5).end)
                stop(before: texts[name.text] ?? "", .command)
            case UInt8(ascii: "Q"):
                stop(before: Frames.string(frame, at: 5).text, .ready)
            case UInt8(ascii: "c"):
                let end = unit.state.withLock { unit in
                    unit.isCopying = false
                    return unit.copyEnd
                }
                stop(before: "the end of " + last, end)
            case UInt8(ascii: "S"):
                let isStep = !isInBlock && writes && gate.arrive(session, "COMMIT", unless: { unit.hasFailed })
                unit.state.withLock { unit in
                    unit.hasFailed = false
                    if !unit.isCopying { unit.parts.append(Part(end: .ready, isStep: isStep)) }
                }
                writes = false
            default: break
            }
            guard Frames.send(frame, to: server) else { return }
            // Without a Flush, the server keeps its response until the end of the unit.
            if frame[0] == UInt8(ascii: "E"), !Frames.send([UInt8(ascii: "H"), 0, 0, 0, 4], to: server) { return }
        }
    }
}

// MARK: - From the server

extension SteppingProxy {
    private func passResponses(_ server: Frames, _ client: CInt, _ session: Int, _ unit: SharedUnit) {
        while let frame = server.next() {
            // The client learns of the end after the gate, so that its next statement does not come first.
            switch UInt8(frame[0]) {
            case UInt8(ascii: "K"):
                gate.started(session, pid: frame[5..<9].reduce(0) { $0 << 8 | Int32($1) })
            case UInt8(ascii: "C"), UInt8(ascii: "I"), UInt8(ascii: "s"): end(.command, session, unit)
            case UInt8(ascii: "Z"): end(.ready, session, unit)
            case UInt8(ascii: "G"):
                let part = unit.state.withLock { unit in
                    guard let part = unit.parts.first else { return nil as Part? }
                    (unit.copyEnd, unit.isCopying) = (part.end, true)
                    unit.parts = []
                    return part
                }
                if part?.isStep == true { gate.completed(session) }
            case UInt8(ascii: "E"): fail(session, unit)
            default: break
            }
            guard Frames.send(frame, to: client) else { return }
        }
    }

    private func end(_ end: Part.End, _ session: Int, _ unit: SharedUnit) {
        let part = unit.state.withLock { unit in
            unit.parts.first?.end == end ? unit.parts.removeFirst() : nil
        }
        if part?.isStep == true { gate.completed(session) }
    }

    /// The server skips what it has of the unit, and what follows until its Sync.
    private func fail(_ session: Int, _ unit: SharedUnit) {
        let wasStep = unit.state.withLock { unit in
            let skipped = unit.parts.prefix { $0.end == .command }
            unit.parts.removeFirst(skipped.count)
            if unit.parts.isEmpty { unit.hasFailed = true }
            return skipped.contains(where: \.isStep)
        }
        gate.failed()
        if wasStep { gate.completed(session) }
    }
}

// MARK: - Messages

/// Reads whole messages from a socket.
private final class Frames {
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var start = 0

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Nil at the end.
    func next(hasType: Bool = true) -> [UInt8]? {
        let head = hasType ? 5 : 4
        guard fill(head) else { return nil }
        let length = buffer[(start + head - 4)..<(start + head)].reduce(0) { $0 << 8 | Int($1) }
        let count = length + head - 4
        guard fill(count) else { return nil }
        defer { start += count }
        return Array(buffer[start..<(start + count)])
    }

    private func fill(_ count: Int) -> Bool {
        while buffer.count - start < count {
            buffer.removeFirst(start)
            start = 0
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let received = recv(descriptor, &chunk, chunk.count, 0)
            guard received > 0 else { return false }
            buffer += chunk.prefix(received)
        }
        return true
    }

    static func send(_ bytes: [UInt8], to descriptor: CInt) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    static func string(_ frame: [UInt8], at start: Int) -> (text: String, end: Int) {
        let end = frame[start...].firstIndex(of: 0) ?? frame.endIndex
        return (String(decoding: frame[start..<end], as: UTF8.self), end + 1)
    }
}
