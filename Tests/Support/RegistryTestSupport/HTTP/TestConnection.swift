import Foundation
import Glibc

/// One keep-alive connection, on its own thread. It shares no code with the server.
///
/// For pipelining, send several requests and then read as many responses.
public actor TestConnection {
    /// How long a call waits for the server. Beside hundreds of other tests, work off the loops waits for a thread.
    private static let timeoutSeconds = 60

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private nonisolated let executor = ThreadExecutor()
    private let descriptor: CInt
    private var buffer: [UInt8] = []

    /// Connects to 127.0.0.1.
    public init(port: UInt16) throws(HTTPClientError) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard Self.connect(descriptor, port) else {
            executor.stop()
            throw .cannotConnect
        }
        var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &timeout, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    deinit {
        close(descriptor)
        executor.stop()
    }

    private static func connect(_ descriptor: CInt, _ port: UInt16) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Sends a request and reads its response.
    public func response(to request: HTTPRequest) throws(HTTPClientError) -> HTTPResponse {
        try send(request.bytes)
        return try response(toHead: request.method == "HEAD")
    }

    /// Sends raw bytes.
    public func send(_ bytes: [UInt8]) throws(HTTPClientError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw errno == EAGAIN ? .timedOut : .closed }
            sent += count
        }
    }

    /// Reads raw bytes; fewer than `count` if the connection ends.
    public func receive(_ count: Int) throws(HTTPClientError) -> [UInt8] {
        do {
            return try take(count)
        } catch .closed {
            defer { buffer = [] }
            return buffer
        }
    }

    /// Reads the next response.
    public func response(toHead isHead: Bool = false) throws(HTTPClientError) -> HTTPResponse {
        let lines = try takeHead().components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ")
        guard parts.count >= 2, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else { throw .malformed(lines[0]) }
        let fields = lines.dropFirst().filter { !$0.isEmpty }.map(Self.field)
        let head = HTTPResponse(status: status, fields: fields, body: [])
        guard !isHead, status != 204, status != 304 else { return head }
        return HTTPResponse(status: status, fields: fields, body: try takeBody(of: head))
    }

    private static func field(_ line: String) -> (name: String, value: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
    }

    private func takeBody(of head: HTTPResponse) throws(HTTPClientError) -> [UInt8] {
        if head["Transfer-Encoding"] == "chunked" { return try takeChunks() }
        guard let length = head["Content-Length"].flatMap({ Int($0) }) else { throw .malformed("no length") }
        return try take(length)
    }

    private func takeChunks() throws(HTTPClientError) -> [UInt8] {
        var body: [UInt8] = []
        while true {
            guard let size = Int(text(try take(until: [13, 10]).dropLast(2)), radix: 16) else {
                throw .malformed("chunk size")
            }
            body += try take(size + 2).dropLast(2)
            if size == 0 { return body }
        }
    }

    private func takeHead() throws(HTTPClientError) -> String {
        text(try take(until: [13, 10, 13, 10])[...])
    }

    private func take(until end: [UInt8]) throws(HTTPClientError) -> [UInt8] {
        while true {
            if let range = buffer.firstRange(of: end) { return try take(range.upperBound) }
            try fill()
        }
    }

    private func take(_ count: Int) throws(HTTPClientError) -> [UInt8] {
        while buffer.count < count { try fill() }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private func fill() throws(HTTPClientError) {
        var piece = [UInt8](repeating: 0, count: 16 * 1024)
        let count = recv(descriptor, &piece, piece.count, 0)
        guard count > 0 else { throw count < 0 && errno == EAGAIN ? .timedOut : .closed }
        buffer.append(contentsOf: piece[..<count])
    }

    /// Whether the server has closed the connection, or closes it before the timeout.
    public func isClosedByServer() -> Bool {
        do {
            while true { try fill() }
        } catch {
            return error == .closed
        }
    }
}

/// A thread for an actor with blocking calls, so that a client that waits for a response blocks no other task.
final class ThreadExecutor: SerialExecutor, @unchecked Sendable {
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isStopped = false

    init() {
        let thread = Thread { [self] in run() }
        thread.stackSize = 512 * 1024
        thread.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock { jobs.append(job) }
        condition.signal()
    }

    /// Ends the thread after its remaining jobs.
    func stop() {
        condition.withLock { isStopped = true }
        condition.signal()
    }

    private func run() {
        while let next = take() {
            for job in next { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    private func take() -> [UnownedJob]? {
        condition.withLock {
            while jobs.isEmpty, !isStopped { condition.wait() }
            defer { jobs = [] }
            return jobs.isEmpty ? nil : jobs
        }
    }
}
