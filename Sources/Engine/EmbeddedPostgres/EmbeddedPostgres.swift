import Glibc
public import Logging

/// A private PostgreSQL server that this process owns. It is created on first use and reached over a Unix socket that
/// only this process's user and the server's user can enter.
///
/// It runs in its own session, so that Ctrl-C on the owner's terminal does not reach it. It runs until ``stop(_:)``;
/// call that after the last client has finished. If the owner dies first, the server keeps running, and the folder's
/// next owner stops and replaces it. A file lock, which the kernel releases when the holder dies, allows only one
/// living process to own a folder.
public actor EmbeddedPostgres {
    /// How to stop a running server.
    public enum StopMode: String, Sendable {
        /// Rolls back open transactions, closes every session and writes all data to disk.
        case fast
        /// Stops at once; the next start recovers as after a crash. Committed data is not lost.
        case immediate
    }

    /// libpq keywords (`host=… port=… user=push_registry dbname=push_registry`) for the service's role, which owns
    /// the database. ``restart()`` does not change them.
    public nonisolated let connectionString: String
    /// The same for the superuser `postgres`.
    public nonisolated let superuserConnectionString: String
    /// The connection string over TCP, `host=127.0.0.1`, for the service's role; nil unless TCP was requested.
    public nonisolated let loopbackConnectionString: String?

    /// libpq keywords that connect, as the service's role, to the one of two servers that accepts writes.
    public nonisolated func connectionString(withFailoverTo other: EmbeddedPostgres) -> String {
        address.connectionString(
            user: ClusterData.serviceName, database: ClusterData.serviceName, withFailoverTo: other.address)
    }

    /// The folder of the server's socket, which libpq takes as a host, and its port.
    public nonisolated var node: (host: String, port: UInt16) { (address.socketFolder, address.port) }

    private nonisolated let address: ServerAddress
    package nonisolated let directory: String
    private let postmaster: Postmaster
    private let settings: ServerSettings
    private let logger: Logger
    /// Nil after ``stop(_:)``: another process may own the folder then.
    private var lock: OwnerLock?
    /// Held from the end of ``waitForGuests(_:)`` to the end of ``stop(_:)``.
    var guestLock: GuestLock?
    /// False from the start of ``stop(_:)`` to ``restart()``: ``keepRunning()`` then does not restart the server.
    private var shouldRun = true
    /// Whether the server was neither stopped, killed, suspended nor restarted since its start.
    package private(set) var isUntouched = true
    /// The attempt of ``keepRunning()`` to start the server; ``stop(_:)`` waits for it.
    private var attempt: Task<Void, any Error>?

    /// Starts the server of `directory` and waits until it accepts connections. The first start creates the data, the
    /// role and the database, which takes a second or two. A later start replaces a server that a killed owner left
    /// running.
    ///
    /// If this process is root, the server runs as the owner of the data: `postgres`, or `nobody` if that account does
    /// not exist. If that user cannot enter `directory`, it gets a link to a data folder under
    /// `/var/lib/push-registry`.
    ///
    /// - Parameters:
    ///   - directory: the service's data folder (`.push-registry`), created if it is missing; the server gets the
    ///     folder `postgres` in it. The service must have the right to write to it.
    ///   - settings: PostgreSQL's, which override this module's defaults, except `port`, `unix_socket_directories` and
    ///     `log_directory`.
    /// - Throws: ``EmbeddedPostgresError``, whose description says what to do next. No server process is left running.
    public static func start(
        directory: String, settings: [String: String] = [:], logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        let directory = try ClusterFolder.makeDirectory(directory)
        let lock = try OwnerLock(directory: directory)
        return try await start(
            directory: directory, lock: lock, origin: .initialization, settings: settings,
            defaults: ServerSettings.lasting, loopbackPort: nil, logger: logger)
    }

    /// Whether an embedded server was ever created in `directory`. Creates nothing.
    public static func exists(in directory: String) -> Bool {
        FileStatus("\(directory)/postgres") != nil
    }

    /// libpq keywords for the server that another process runs in `directory`, as the service's role; nil if none runs,
    /// or if it is starting or stopping. Creates nothing.
    ///
    /// - Throws: ``EmbeddedPostgresError`` if the folder cannot be used.
    public static func connectionString(ofServerIn directory: String) async throws(EmbeddedPostgresError) -> String? {
        guard exists(in: directory),
            let folder = try await ClusterFolder.find(in: FileStatus.canonicalPath(directory))
        else { return nil }
        let binaries = try await PostgresBinaries.find(forData: folder.data)
        let command = ServerCommand(programs: binaries.folder, user: folder.user)
        guard Postmaster(folder: folder, command: command).isReady else { return nil }
        let address = ServerAddress(socketFolder: folder.socketFolder, port: ServerAddress.defaultPort)
        return address.connectionString(user: ClusterData.serviceName, database: ClusterData.serviceName)
    }

    /// - Parameters:
    ///   - directory: canonical, and locked by `lock`.
    ///   - loopbackPort: also listens on this TCP port of 127.0.0.1.
    ///   - environment: variables of the server's process.
    package static func start(
        directory: String, lock: OwnerLock, origin: ClusterOrigin, settings: [String: String],
        defaults: [String: String], loopbackPort: UInt16?, environment: [String: String] = [:], logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        let folder = try await ClusterFolder.prepare(in: directory)
        if folder.user.isShared {
            logger.warning(
                "embedded PostgreSQL runs as an account that other programs may share: create the account postgres",
                metadata: ["user": "\(folder.user.name)"])
        }
        let binaries = try await PostgresBinaries.find(forData: folder.data)
        var command = ServerCommand(programs: binaries.folder, user: folder.user)
        let data = ClusterData(folder: folder, command: command)
        try await data.createIfMissing(from: origin)
        let address = ServerAddress(
            socketFolder: folder.socketFolder, port: loopbackPort ?? ServerAddress.defaultPort)
        command.variables = environment
        let server = EmbeddedPostgres(
            directory: directory, lock: lock, postmaster: Postmaster(folder: folder, command: command),
            address: address,
            settings: ServerSettings(
                settings, over: defaults, folder: folder, address: address, listensOnLoopback: loopbackPort != nil),
            listensOnLoopback: loopbackPort != nil, logger: logger)
        try await server.replaceAndStart()
        if case .initialization = origin { try await server.createDatabase(data, address: address) }
        return server
    }

    private init(
        directory: String, lock: OwnerLock, postmaster: Postmaster, address: ServerAddress,
        settings: ServerSettings, listensOnLoopback: Bool, logger: Logger
    ) {
        let name = ClusterData.serviceName
        connectionString = address.connectionString(user: name, database: name)
        superuserConnectionString = address.connectionString(user: ClusterData.superuser, database: name)
        loopbackConnectionString =
            listensOnLoopback ? address.loopbackConnectionString(user: name, database: name) : nil
        self.address = address
        self.directory = directory
        self.postmaster = postmaster
        self.settings = settings
        self.logger = logger
        self.lock = lock
    }

    /// Stops the server, waits until it has exited and releases the folder. Does nothing if it does not run. Not
    /// interrupted by cancellation.
    ///
    /// - Throws: `stopFailed`; this owner then keeps the folder.
    public func stop(_ mode: StopMode = .fast) async throws(EmbeddedPostgresError) {
        (shouldRun, isUntouched) = (false, false)
        _ = await attempt?.result
        try await postmaster.stop(mode)
        guard lock != nil else { return }
        // The socket's folder may be in /tmp.
        rmdir(postmaster.folder.socketFolder)
        (lock, guestLock) = (nil, nil)
        logger.info("embedded PostgreSQL stopped", metadata: ["folder": "\(postmaster.folder.home)"])
    }

    /// Kills the server with SIGKILL, like a crash, and returns when all of its processes have ended. This owner keeps
    /// the folder for ``restart()``.
    public func kill() async {
        isUntouched = false
        await postmaster.kill()
    }

    /// Stops all of the server's processes with SIGSTOP until ``resume()``, like a machine that hangs: connections stay
    /// open, and nothing responds.
    public func suspend() {
        isUntouched = false
        postmaster.signal(SIGSTOP)
    }

    /// Continues the server after ``suspend()``.
    public func resume() {
        postmaster.signal(SIGCONT)
    }

    /// Starts the server again with the same folder, address and settings, after ``kill()``, ``stop(_:)`` or a crash.
    /// Stops a running server first.
    ///
    /// - Throws: `inUse` if another owner locked the folder after ``stop(_:)``, `startFailed`, `stopFailed`.
    public func restart() async throws(EmbeddedPostgresError) {
        if lock == nil { lock = try OwnerLock(directory: directory) }
        (shouldRun, isUntouched) = (true, false)
        try await replaceAndStart()
    }

    /// libpq keywords for another database of the server, as the service's role.
    package nonisolated func connectionString(to database: String) -> String {
        address.connectionString(user: ClusterData.serviceName, database: database)
    }

    /// Runs SQL as superuser, in the database `postgres`.
    package func execute(_ sql: String) async throws(EmbeddedPostgresError) {
        try await postmaster.command.execute(
            sql, at: address.connectionString(user: ClusterData.superuser, database: "postgres"))
    }

    /// Restarts the server whenever it has exited without ``stop(_:)``. Returns after ``stop(_:)`` or when the task is
    /// cancelled. A failed start is logged and retried after a while.
    public func keepRunning() async {
        var delay = Self.pollInterval
        while !Task.isCancelled, shouldRun {
            if isRunning {
                delay = Self.pollInterval
            } else {
                logger.warning("embedded PostgreSQL has exited; restarting it")
                let attempt = Task { try await replaceAndStart() }
                self.attempt = attempt
                defer { self.attempt = nil }
                do {
                    try await attempt.value
                } catch {
                    logger.error("embedded PostgreSQL does not start", metadata: ["reason": "\(error)"])
                    delay = min(delay * 2, Self.restartDelayMax)
                }
            }
            try? await Task.sleep(for: delay)
        }
    }

    /// The interval between two checks whether the server runs.
    private static let pollInterval = Duration.milliseconds(200)
    /// The longest delay between two attempts to start.
    private static let restartDelayMax = Duration.seconds(30)

    /// Whether the server's process exists.
    public var isRunning: Bool { processID != nil }

    /// The id of the server's process; nil if it does not run.
    var processID: Int32? { postmaster.processID }

    /// Replaces a server that a dead owner left running: it has that owner's settings, perhaps those of an older
    /// version, and its clients died with the owner.
    private func replaceAndStart() async throws(EmbeddedPostgresError) {
        let folder = postmaster.folder
        if let processID = postmaster.processID {
            logger.notice("replacing a running embedded PostgreSQL", metadata: ["processId": "\(processID)"])
            try await postmaster.stop(.fast)
        }
        try await postmaster.start(settings: settings.values)
        logger.info(
            "embedded PostgreSQL started",
            metadata: ["folder": "\(folder.home)", "user": "\(folder.user.name)"])
    }

    private func createDatabase(
        _ data: ClusterData, address: ServerAddress
    ) async throws(EmbeddedPostgresError) {
        do {
            try await data.createDatabaseIfMissing(address: address)
        } catch {
            try? await stop()
            throw error
        }
    }
}

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
