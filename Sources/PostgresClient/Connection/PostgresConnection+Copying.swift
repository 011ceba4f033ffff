import EventLoop

// COPY to the client: rows of any number, of which the server sends no more than are taken.
extension PostgresConnection {
    /// Sends `COPY (query) TO STDOUT (FORMAT binary)` and returns; `nextCopyRows` hands out the rows. Nothing may be in
    /// flight, and nothing else may be sent before their end.
    ///
    /// COPY takes no placeholders, so the server is asked first to write the query's values as literals.
    ///
    /// - Parameter timeout: how long all of it may take, the taking included; after it the connection is closed.
    public func beginCopy(of query: PostgresSQL, timeout: Duration) async throws(PostgresError) {
        let deadline = loop.now + timeout
        let literals = try await literals(of: query, timeout: timeout)
        guard isOpen else { throw PostgresError(.connectionLost, retry: .yes) }
        guard copy == nil, unitsInFlight == 0 else {
            throw PostgresError(.protocolViolation, message: "a COPY needs the connection for itself")
        }
        copy = Copy(deadline: deadline)
        guard handle.sendCopy("COPY (\(query.text(with: literals))) TO STDOUT (FORMAT binary)") else {
            throw endCopy(handle.lost())
        }
        flush()
        setTimer(deadline)
    }

    /// The next rows in the order of the query; nil after the last one. While nobody asks, nothing is read, and the
    /// server waits as soon as the socket's buffers are full.
    ///
    /// - Parameter bytesMax: no further row is added to so many bytes.
    /// - Throws: `timeout` once the deadline has passed, and what the server says; the connection is closed then.
    public func nextCopyRows(bytesMax: Int) async throws(PostgresError) -> PostgresCopyRows? {
        var rows = PostgresCopyRows(capacity: bytesMax + bytesMax / 8)
        // How many there were when the socket was looked at last.
        var countSeen = -1
        while true {
            guard isOpen else { throw copy?.error ?? PostgresError(.closed) }
            guard var phase = copy?.phase else { return nil }
            let reply = handle.takeCopy(&phase, into: &rows, bytesMax: bytesMax)
            copy?.phase = phase
            switch reply {
            case .full: return rows
            case .failure(let error): throw endCopy(error)
            case .end:
                hold(false)
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
            // It may have been closed on the way here.
            guard isOpen, copy != nil else { return continuation.resume() }
            copy?.waiter = continuation
            hold(false)
        }
    }

    /// Has the poller tell what arrives, or not: it would tell again and again.
    private func hold(_ isHeld: Bool) {
        guard let watch, let copy, copy.isHeld != isHeld else { return }
        self.copy?.isHeld = isHeld
        loop.change(watch, to: isHeld ? [] : .readable)
    }

    /// The descriptor of a connection with a COPY is ready. What nobody waits for stays where it is.
    func receiveCopy(_ readiness: Readiness) {
        if isWaitingToWrite { flush() }
        if let waiter = copy?.waiter {
            copy?.waiter = nil
            waiter.resume()
        } else if readiness.isDisjoint(with: .failed) {
            hold(true)
        } else {
            // Told again and again, wanted or not.
            close(PostgresError(.connectionLost, message: "the server has gone"))
        }
    }

    /// The connection is closed: whoever waits learns it now, and who asks later then.
    func failCopy(_ error: PostgresError) {
        guard let copy else { return }
        self.copy?.error = copy.error ?? (copy.deadline <= loop.now ? PostgresError(.timeout) : error)
        self.copy?.waiter = nil
        copy.waiter?.resume()
    }

    /// A connection whose COPY broke off is of no use: whatever is left of it would have to be read.
    private func endCopy(_ error: PostgresError) -> PostgresError {
        close(error)
        copy = nil
        return error
    }

    /// The values bound in `query`, each as SQL text that the server quoted and cast to its type.
    private func literals(of query: PostgresSQL, timeout: Duration) async throws(PostgresError) -> [String] {
        guard let question = query.literals else { return [] }
        let answers = try await execute([Self.exactTexts, question], timeout: timeout)
        do {
            return try answers[1][0].decode(0)
        } catch {
            throw PostgresError(.protocolViolation, message: "\(error)")
        }
    }

    /// Until the end of the transaction, times and numbers are written such that they are read back as they were.
    private static let exactTexts: PostgresStatement =
        "SELECT set_config('datestyle', 'ISO', true), set_config('extra_float_digits', '1', true)"

    /// A COPY under way.
    struct Copy {
        let deadline: ContinuousClock.Instant
        var phase = CopyPhase.beginning
        /// Who asked for rows, none of which had arrived.
        var waiter: CheckedContinuation<Void, Never>?
        /// Whether the poller keeps to itself what has arrived.
        var isHeld = false
        /// Why there are no more rows.
        var error: PostgresError?
    }
}
