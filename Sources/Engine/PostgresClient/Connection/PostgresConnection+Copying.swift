import EventLoop

// COPY to the client: any number of rows. The server does not send more than the caller reads.
extension PostgresConnection {
    /// Sends `COPY (query) TO STDOUT (FORMAT binary)` and returns; `nextCopyRows` returns the rows. Nothing may be in
    /// flight, and nothing else may be sent before the COPY has ended.
    ///
    /// COPY takes no placeholders, so the server first converts the query's values to literals.
    ///
    /// - Parameter timeout: the limit for the whole COPY, including the caller's reading; after it the connection is
    ///   closed.
    public func beginCopy(of query: PostgresSQL, timeout: Duration) async throws(PostgresError) {
        let deadline = loop.now + timeout
        let literals = try await literals(of: query, timeout: timeout)
        guard isOpen else { throw PostgresError(.connectionLost, retry: .yes) }
        guard copy == nil, unitsInFlight == 0 else {
            throw PostgresError(.protocolViolation, message: "a COPY needs an idle connection")
        }
        copy = Copy(deadline: deadline)
        guard handle.sendCopy("COPY (\(query.text(with: literals))) TO STDOUT (FORMAT binary)") else {
            throw endCopy(handle.lost())
        }
        flush()
        setTimer(deadline)
    }

    /// The next rows in the order of the query; nil after the last one. Between calls nothing is read, and the server
    /// waits once the socket's buffers are full.
    ///
    /// - Parameter bytesMax: once the rows have this many bytes, no further row is added.
    /// - Throws: `timeout` if the deadline has passed, or the server's error; the connection is then closed.
    public func nextCopyRows(bytesMax: Int) async throws(PostgresError) -> PostgresCopyRows? {
        var rows = PostgresCopyRows(capacity: bytesMax + bytesMax / 8)
        // The row count when the socket was last read.
        var countSeen = -1
        while true {
            guard isOpen else { throw copy?.error ?? PostgresError(.closed) }
            guard var phase = copy?.phase else { return nil }
            let reply = handle.readCopy(&phase, into: &rows, bytesMax: bytesMax)
            copy?.phase = phase
            switch reply {
            case .full: return rows
            case .failure(let error): throw endCopy(error)
            case .end:
                pauseReports(false)
                copy = nil
                return rows.count > 0 ? rows : nil
            case .wait where rows.count > countSeen:
                countSeen = rows.count
                if !handle.consumeInput() { copy?.error = handle.lost() }
            case .wait:
                if let error = copy?.error { throw endCopy(error) }
                if rows.count > 0 { return rows }
                await waitForCopy()
                countSeen = -1
            }
        }
    }

    private func waitForCopy() async {
        await withCheckedContinuation { continuation in
            // The connection may have been closed before this point was reached.
            guard isOpen, copy != nil else { return continuation.resume() }
            copy?.waiter = continuation
            pauseReports(false)
        }
    }

    /// Pauses or resumes the poller's reports of incoming data, which it repeats until the data is read.
    private func pauseReports(_ isPaused: Bool) {
        guard let watch, let copy, copy.isPaused != isPaused else { return }
        self.copy?.isPaused = isPaused
        loop.change(watch, to: isPaused ? [] : .readable)
    }

    /// The descriptor is ready during a COPY. If no caller waits, the data stays in the socket.
    func receiveCopy(_ readiness: Readiness) {
        if isWaitingToWrite { flush() }
        if let waiter = copy?.waiter {
            copy?.waiter = nil
            waiter.resume()
        } else if readiness.isDisjoint(with: .failed) {
            pauseReports(true)
        } else {
            // The poller repeats its report until the data is read.
            close(PostgresError(.connectionLost, message: "the server closed the connection"))
        }
    }

    /// Fails the COPY of a closed connection: a waiting caller gets the error now, otherwise the next call does.
    func failCopy(_ error: PostgresError) {
        guard let copy else { return }
        self.copy?.error = copy.error ?? (copy.deadline <= loop.now ? PostgresError(.timeout) : error)
        self.copy?.waiter = nil
        copy.waiter?.resume()
    }

    /// A connection whose COPY failed cannot be reused: the rest of the COPY would have to be read.
    private func endCopy(_ error: PostgresError) -> PostgresError {
        close(error)
        copy = nil
        return error
    }

    /// The values bound in `query`, each as SQL text that the server has quoted and cast to its type.
    private func literals(of query: PostgresSQL, timeout: Duration) async throws(PostgresError) -> [String] {
        guard let statement = query.literals else { return [] }
        let results = try await execute([Self.exactTexts, statement], timeout: timeout)
        do {
            return try results[1][0].decode(0)
        } catch {
            throw PostgresError(.protocolViolation, message: "\(error)")
        }
    }

    /// Until the end of the transaction, times and numbers are written so that they can be parsed without loss.
    private static let exactTexts: PostgresStatement =
        "SELECT set_config('datestyle', 'ISO', true), set_config('extra_float_digits', '1', true)"

    /// A COPY in progress.
    struct Copy {
        let deadline: ContinuousClock.Instant
        var phase = CopyPhase.beginning
        /// The caller that waits for rows to arrive.
        var waiter: CheckedContinuation<Void, Never>?
        /// Whether the poller's reports of arriving data are paused.
        var isPaused = false
        /// The error that ended the COPY.
        var error: PostgresError?
    }
}

/// Rows of a `COPY … TO STDOUT (FORMAT binary)`, concatenated as the server sent them:
/// <https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4>.
///
/// Each row has the number of its fields (two bytes), and for each field its length (four bytes, -1 for NULL) and its
/// bytes in PostgreSQL's binary form. Numbers are big-endian.
public struct PostgresCopyRows: Sendable {
    /// The rows only, without the header and the trailer of the format.
    public private(set) var bytes: [UInt8] = []
    /// The number of rows.
    public private(set) var count = 0

    private static let signature = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0]
    /// The signature, the flags and the length of the extension, which no server has used so far.
    private static let headerBytes = signature.count + 8
    private static let trailer: [UInt8] = [0xFF, 0xFF]

    init(capacity: Int) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends one message of the server, which contains a row or the trailer. The header precedes the first of them.
    mutating func append(_ message: UnsafeRawBufferPointer) {
        let row = message.starts(with: Self.signature) ? message.dropFirst(Self.headerBytes) : message[...]
        guard !row.elementsEqual(Self.trailer) else { return }
        bytes.append(contentsOf: row)
        count += 1
    }
}
