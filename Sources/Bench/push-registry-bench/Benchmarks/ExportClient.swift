import Foundation
import Glibc
import Synchronization

/// A client that exports and only counts the lines, as `\copy` to `/dev/null` discards them.
struct ExportClient: Sendable {
    private static let bufferBytes = 256 * 1_024

    let port: UInt16
    let app: String
    let key: String
    /// Of which receipts are exported.
    var message: String?

    /// Exports all active installations, on a new thread.
    ///
    /// - Parameter isOver: called between two pieces; if it returns true the export is aborted with
    ///   `CancellationError`.
    /// - Returns: the number of lines.
    func run(_ format: String, isOver: @escaping @Sendable () -> Bool = { false }) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try runBlocking(format, isOver) }) }
            thread.name = "export"
            thread.start()
        }
    }

    /// Exports in a loop while `body` runs.
    func whileExporting<Value>(_ format: String, _ body: () async throws -> Value) async throws -> Value {
        let flag = Flag()
        async let exports: Void = repeated(format) { flag.isSet }
        let value = try await body()
        flag.set()
        try await exports
        return value
    }

    private func repeated(_ format: String, until isOver: @escaping @Sendable () -> Bool) async throws {
        while !isOver() {
            do { _ = try await run(format, isOver: isOver) } catch is CancellationError {}
        }
    }

    private final class Flag: Sendable {
        private let state = Atomic<Bool>(false)
        var isSet: Bool { state.load(ordering: .relaxed) }
        func set() { state.store(true, ordering: .relaxed) }
    }

    private func runBlocking(_ format: String, _ isOver: () -> Bool) throws -> Int {
        let descriptor = try Loopback.connect(port: port)
        defer { close(descriptor) }
        let request = request(format)
        guard send(descriptor, request, request.count, CInt(MSG_NOSIGNAL)) == request.count else {
            throw Loopback.Failure(what: "the export's request")
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.bufferBytes, alignment: 16)
        defer { buffer.deallocate() }
        var response = StreamedResponse()
        while !response.isComplete {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { throw BenchmarkFailure("the export broke off after \(response.lineCount) lines") }
            try response.parse(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            if isOver() { throw CancellationError() }
        }
        return response.lineCount
    }

    private func request(_ format: String) -> [UInt8] {
        let receipts = message.map { #", "message": "\#($0)""# } ?? ""
        let body = #"{"filter": {}, "include": "active", "format": "\#(format)"\#(receipts)}"#
        return Array(
            """
            POST /v1/apps/\(app)/audience/export HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer \(key)\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """.utf8)
    }
}

/// A chunked response (RFC 9112, section 7.1) whose body is discarded.
struct StreamedResponse {
    private(set) var lineCount = 0
    private(set) var isComplete = false
    /// The received part of the head, or of the line between two chunks.
    private var text: [UInt8] = []
    private var isHead = true
    private var chunkBytesLeft = 0

    /// - Throws: `BenchmarkFailure` if the response is not a 200.
    mutating func parse(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty, !isComplete {
            if chunkBytesLeft > 0 {
                let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(chunkBytesLeft))
                countLines(piece)
                chunkBytesLeft -= piece.count
                rest = rest.dropFirst(piece.count)
            } else {
                text.append(rest.removeFirst())
                if text.last == UInt8(ascii: "\n") { try endLine() }
            }
        }
    }

    private mutating func endLine() throws {
        if isHead {
            guard text.suffix(4) == Array("\r\n\r\n".utf8)[...] else { return }
            guard text.starts(with: "HTTP/1.1 200 ".utf8) else {
                throw BenchmarkFailure("the export failed: \(String(decoding: text, as: UTF8.self))")
            }
            isHead = false
        } else if text.count > 2 {
            // Not the line end after the last chunk.
            chunkBytesLeft = Int(String(decoding: text.dropLast(2), as: UTF8.self), radix: 16) ?? 0
            isComplete = chunkBytesLeft == 0
        }
        text.removeAll(keepingCapacity: true)
    }

    private mutating func countLines(_ piece: UnsafeRawBufferPointer) {
        var position = 0
        while position < piece.count,
            let found = memchr(piece.baseAddress! + position, 0x0A, piece.count - position)
        {
            lineCount += 1
            position = UnsafeRawPointer(found) - piece.baseAddress! + 1
        }
    }
}
