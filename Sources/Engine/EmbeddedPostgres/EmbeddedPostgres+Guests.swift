extension EmbeddedPostgres {
    /// Joins the server that another process runs in `directory`; nil if none runs, or if it is starting or stopping.
    /// Creates only the file of the guest lock.
    ///
    /// - Throws: ``EmbeddedPostgresError`` if the folder cannot be used.
    public static func join(
        serverIn directory: String
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgresGuest? {
        guard exists(in: directory) else { return nil }
        let lock: GuestLock?
        switch GuestLock.take(try FileStatus.canonicalPath(directory), as: .guest) {
        case .taken(let taken): lock = taken
        case .unavailable: lock = nil
        // The owner is about to stop the server.
        case .busy: return nil
        }
        guard let connectionString = try await connectionString(ofServerIn: directory) else { return nil }
        return EmbeddedPostgresGuest(connectionString: connectionString, lock: lock)
    }

    /// Waits until no other process uses the server, and then prevents others from joining. The owner calls it before
    /// ``stop(_:)``. Cancellation ends the wait.
    ///
    /// - Parameter isWaiting: called once, if there is a guest to wait for.
    public func waitForGuests(_ isWaiting: @Sendable () -> Void) async {
        var hasReported = false
        while !Task.isCancelled {
            switch GuestLock.take(directory, as: .owner) {
            case .taken(let lock):
                guestLock = lock
                return
            case .unavailable: return
            case .busy: break
            }
            if !hasReported { isWaiting() }
            hasReported = true
            try? await Task.sleep(for: Self.guestInterval)
        }
    }

    /// The interval between two attempts to take the lock.
    private static let guestInterval = Duration.milliseconds(50)
}
