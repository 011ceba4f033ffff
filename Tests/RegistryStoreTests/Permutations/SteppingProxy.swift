import Basics
import Glibc
import RegistryTestSupport
import Synchronization

/// A proxy on a Unix socket in front of PostgreSQL that stops each statement at a gate, also within a pipeline:
/// <https://www.postgresql.org/docs/15/protocol-message-formats.html>. Statements that only begin a transaction, roll
/// it back or change a setting pass.
///
/// A statement stops before its Bind, because Bind takes the snapshot of a query. A unit outside a transaction block
/// that writes stops once more before its Sync, which commits.
final class SteppingProxy: Sendable {
    private static let sessionCount = Atomic<Int>(0)

    private let proxy: PostgresProxy

    var connectionString: String { proxy.connectionString }

    /// - Parameter connectionString: keywords, with the folder of the server's socket as `host`.
    init(_ connectionString: String, of caller: Int, through gate: StepGate) throws {
        proxy = try PostgresProxy(connectionString) { sockets in
            let number = Self.sessionCount.add(1, ordering: .relaxed).newValue
            gate.opened(number, of: caller)
            let session = SteppedSession(sockets, number, gate)
            return { isFromClient in
                if isFromClient { session.passRequests() } else { session.passResponses() }
                sockets.cut()
                if !isFromClient { gate.closed(number) }
            }
        }
    }

    func stop() { proxy.stop() }
}

private final class SteppedSession: Sendable {
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

    private let sockets: ProxiedSession
    private let number: Int
    private let gate: StepGate
    private let unit = Locked(Unit())

    private static let passed = [
        "BEGIN", "ROLLBACK", "SET ", "RESET ", "SHOW ", "DEALLOCATE", "SELECT SET_CONFIG",
    ]

    init(_ sockets: ProxiedSession, _ number: Int, _ gate: StepGate) {
        (self.sockets, self.number, self.gate) = (sockets, number, gate)
    }

    private var hasFailed: Bool { unit.withLock { $0.hasFailed } }

    private func add(_ end: Part.End, isStep: Bool) {
        unit.withLock { unit in
            if !unit.hasFailed { unit.parts.append(Part(end: end, isStep: isStep)) }
        }
    }
}

// MARK: - From the client

extension SteppedSession {
    func passRequests() {
        let (client, server) = (Frames(sockets.client), sockets.server)
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
            let isStep = !isPassed && gate.arrive(number, text, unless: { hasFailed })
            add(end, isStep: isStep)
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
                let end = unit.withLock { unit in
                    unit.isCopying = false
                    return unit.copyEnd
                }
                stop(before: "the end of " + last, end)
            case UInt8(ascii: "S"):
                let isStep = !isInBlock && writes && gate.arrive(number, "COMMIT", unless: { hasFailed })
                unit.withLock { unit in
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

extension SteppedSession {
    func passResponses() {
        let (server, client) = (Frames(sockets.server), sockets.client)
        while let frame = server.next() {
            // The client learns of the end after the gate, so that its next statement does not come first.
            switch UInt8(frame[0]) {
            case UInt8(ascii: "K"):
                gate.started(number, pid: frame[5..<9].reduce(0) { $0 << 8 | Int32($1) })
            case UInt8(ascii: "C"), UInt8(ascii: "I"), UInt8(ascii: "s"): end(.command)
            case UInt8(ascii: "Z"): end(.ready)
            case UInt8(ascii: "G"):
                let part = unit.withLock { unit in
                    guard let part = unit.parts.first else { return nil as Part? }
                    (unit.copyEnd, unit.isCopying) = (part.end, true)
                    unit.parts = []
                    return part
                }
                if part?.isStep == true { gate.completed(number) }
            case UInt8(ascii: "E"): fail()
            default: break
            }
            guard Frames.send(frame, to: client) else { return }
        }
    }

    private func end(_ end: Part.End) {
        let part = unit.withLock { unit in
            unit.parts.first?.end == end ? unit.parts.removeFirst() : nil
        }
        if part?.isStep == true { gate.completed(number) }
    }

    /// The server skips what it has of the unit, and what follows until its Sync.
    private func fail() {
        let wasStep = unit.withLock { unit in
            let skipped = unit.parts.prefix { $0.end == .command }
            unit.parts.removeFirst(skipped.count)
            if unit.parts.isEmpty { unit.hasFailed = true }
            return skipped.contains(where: \.isStep)
        }
        gate.failed()
        if wasStep { gate.completed(number) }
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
