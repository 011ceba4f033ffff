extension EmbeddedPostgres {
    /// Joins the server that another process runs in `directory`; nil if none runs, or if it is starting or stopping.
    /// Creates nothing but the guests' lock.
    ///
    /// - Throws: ``EmbeddedPostgresError`` for a folder that cannot be used.
    public static func join(
        serverIn directory: String
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgresGuest? {
        guard exists(in: directory) else { return nil }
        let lock: GuestLock?
        switch GuestLock.take(try FileStatus.canonicalPath(directory), as: .guest) {
        case .taken(let taken): lock = taken
        case .unavailable: lock = nil
        // The owner is about to stop it.
        case .busy: return nil
        }
        guard let connectionString = try await connectionString(ofServerIn: directory) else { return nil }
        return EmbeddedPostgresGuest(connectionString: connectionString, lock: lock)
    }

    /// Waits until no other process uses the server, and lets none join from then on. For an owner that is about to
    /// stop it, and may wait. Cancellation ends the wait.
    ///
    /// - Parameter isWaiting: called once if somebody has to be waited for.
    public func waitForGuests(_ isWaiting: @Sendable () -> Void) async {
        var hasTold = false
        while !Task.isCancelled {
            switch GuestLock.take(directory, as: .owner) {
            case .taken(let lock):
                guestLock = lock
                return
            case .unavailable: return
            case .busy: break
            }
            if !hasTold { isWaiting() }
            hasTold = true
            try? await Task.sleep(for: Self.guestInterval)
        }
    }

    /// How often an owner looks whether its guests have gone.
    private static let guestInterval = Duration.milliseconds(50)
}
