import Glibc
public import Logging

/// A private PostgreSQL server that this process owns: made on first use, reached over a Unix socket that only this
/// process's user and the server's can enter.
///
/// It runs in its own session, so that Ctrl-C on the owner's terminal does not reach it, and lives until ``stop(_:)``:
/// end it after the last client is done. If the owner dies without that, the server stays up and the folder's next
/// owner stops and replaces it. At most one living process owns a folder, by a lock that dies with its holder.
public actor EmbeddedPostgres {
    /// How a running server ends.
    public enum StopMode: String, Sendable {
        /// Rolls back what is under way, closes every session and writes everything out.
        case fast
        /// Drops everything; the next start recovers, as after a crash. Nothing committed is lost.
        case immediate
    }

    /// Key words for libpq (`host=… port=… user=push_registry dbname=push_registry`): the service's role, which
    /// owns the database. The same before and after ``restart()``.
    public nonisolated let connectionString: String
    /// The same for the role `postgres`, a superuser.
    public nonisolated let superuserConnectionString: String
    /// The way over TCP, `host=127.0.0.1`, for the service's role; nil unless it was asked for.
    public nonisolated let loopbackConnectionString: String?

    /// Key words for libpq that lead to whichever of two servers takes writes, as the service's role.
    public nonisolated func connectionString(orWhereverWritable other: EmbeddedPostgres) -> String {
        address.connectionString(
            user: ClusterData.serviceName, database: ClusterData.serviceName, orWhereverWritable: other.address)
    }

    private nonisolated let address: ServerAddress
    let directory: String
    private let postmaster: Postmaster
    private let settings: ServerSettings
    private let logger: Logger
    /// Nil after ``stop(_:)``: the folder is free for others.
    private var lock: OwnerLock?
    /// From the end of ``waitForGuests(_:)`` to the end of ``stop(_:)``.
    var guestLock: GuestLock?
    /// False from the beginning of ``stop(_:)`` to ``restart()``: the server is then not started again.
    private var shouldRun = true
    /// ``keepRunning()``'s attempt to start the server; ``stop(_:)`` waits for it to end.
    private var attempt: Task<Void, any Error>?

    /// Starts the server of `directory` and waits until it accepts connections. The first start makes the data, the
    /// role and the database, which takes a second or two; a later one takes over what a killed owner left running.
    ///
    /// As root it runs the server as the data's owner: `postgres`, or `nobody` where there is none; in a place that
    /// user cannot enter, `directory` gets a link to the data under `/var/lib/push-registry`.
    ///
    /// - Parameters:
    ///   - directory: the service's data folder (`.push-registry`), made where it is missing; the server gets the
    ///     folder `postgres` in it. The service has to be able to write it.
    ///   - settings: PostgreSQL's, over the defaults of this module; `port`, `unix_socket_directories` and
    ///     `log_directory` are not the caller's to choose.
    /// - Throws: ``EmbeddedPostgresError``, whose text says what to do next. Nothing of the server is left running.
    public static func start(
        directory: String, settings: [String: String] = [:], logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        let directory = try ClusterFolder.makeDirectory(directory)
        let lock = try OwnerLock(directory: directory)
        return try await start(
            directory: directory, lock: lock, origin: .initialization, settings: settings,
            defaults: ServerSettings.lasting, loopbackPort: nil, logger: logger)
    }

    /// Whether an embedded server was ever created in `directory`. Looks, and creates nothing.
    public static func exists(in directory: String) -> Bool {
        FileStatus("\(directory)/postgres") != nil
    }

    /// The way to the server that another process runs in `directory`, as the service's role; nil if none runs, or if
    /// it is starting or stopping. Looks, and creates nothing.
    ///
    /// - Throws: ``EmbeddedPostgresError`` for a folder that cannot be used.
    public static func connectionString(ofServerIn directory: String) async throws(EmbeddedPostgresError) -> String? {
        guard exists(in: directory),
            let folder = try await ClusterFolder.find(in: FileStatus.canonicalPath(directory))
        else { return nil }
        let binaries = try await PostgresBinaries.find(forData: folder.data)
        let command = ServerCommand(programs: binaries.folder, user: folder.user)
        guard Postmaster(folder: folder, command: command).isReady else { return nil }
        let address = ServerAddress(socketFolder: folder.socketFolder, port: ServerAddress.usualPort)
        return address.connectionString(user: ClusterData.serviceName, database: ClusterData.serviceName)
    }

    /// - Parameters:
    ///   - directory: canonical, and held by `lock`.
    ///   - loopbackPort: listens on that TCP port of 127.0.0.1 too.
    static func start(
        directory: String, lock: OwnerLock, origin: ClusterOrigin, settings: [String: String],
        defaults: [String: String], loopbackPort: UInt16?, logger: Logger
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        let folder = try await ClusterFolder.prepare(in: directory)
        if folder.user.isShared {
            logger.warning(
                "embedded PostgreSQL runs as an account that other programs may share: create the account postgres",
                metadata: ["user": "\(folder.user.name)"])
        }
        let binaries = try await PostgresBinaries.find(forData: folder.data)
        let command = ServerCommand(programs: binaries.folder, user: folder.user)
        let data = ClusterData(folder: folder, command: command)
        try await data.createIfMissing(from: origin)
        let address = ServerAddress(
            socketFolder: folder.socketFolder, port: loopbackPort ?? ServerAddress.usualPort)
        let server = EmbeddedPostgres(
            directory: directory, lock: lock, postmaster: Postmaster(folder: folder, command: command),
            address: address,
            settings: ServerSettings(
                settings, over: defaults, folder: folder, address: address, listensOnLoopback: loopbackPort != nil),
            listensOnLoopback: loopbackPort != nil, logger: logger)
        try await server.takeOverAndStart()
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

    /// Ends the server, waits until it has ended and gives the folder up. Does nothing to one that does not run.
    /// Cancellation does not cut it short.
    ///
    /// - Throws: `stopFailed`; the folder is still this owner's then.
    public func stop(_ mode: StopMode = .fast) async throws(EmbeddedPostgresError) {
        shouldRun = false
        _ = await attempt?.result
        try await postmaster.stop(mode)
        guard lock != nil else { return }
        // It may be one in /tmp.
        rmdir(postmaster.folder.socketFolder)
        (lock, guestLock) = (nil, nil)
        logger.info("embedded PostgreSQL stopped", metadata: ["folder": "\(postmaster.folder.home)"])
    }

    /// Ends the server as a crash would, by SIGKILL, and returns when none of its processes is left. The folder stays
    /// this owner's, for ``restart()``.
    public func kill() async {
        await postmaster.kill()
    }

    /// Starts the server again with the same folder, address and settings, after ``kill()``, ``stop(_:)`` or a crash;
    /// one that runs is stopped first.
    ///
    /// - Throws: `inUse` when another owner took the folder after ``stop(_:)``, `startFailed`, `stopFailed`.
    public func restart() async throws(EmbeddedPostgresError) {
        if lock == nil { lock = try OwnerLock(directory: directory) }
        shouldRun = true
        try await takeOverAndStart()
    }

    /// Starts the server again when it has ended without ``stop(_:)``, until that or until the task is cancelled. A
    /// start that fails is tried again after a while, with the reason in the log.
    public func keepRunning() async {
        var pause = Self.lookInterval
        while !Task.isCancelled, shouldRun {
            if isRunning {
                pause = Self.lookInterval
            } else {
                logger.warning("embedded PostgreSQL has ended; starting it again")
                let attempt = Task { try await takeOverAndStart() }
                self.attempt = attempt
                defer { self.attempt = nil }
                do {
                    try await attempt.value
                } catch {
                    logger.error("embedded PostgreSQL does not start", metadata: ["reason": "\(error)"])
                    pause = min(pause * 2, Self.lookIntervalMax)
                }
            }
            try? await Task.sleep(for: pause)
        }
    }

    /// How often the server's process is looked for.
    private static let lookInterval = Duration.milliseconds(200)
    /// The longest pause between two attempts to start.
    private static let lookIntervalMax = Duration.seconds(30)

    /// Whether the server's process is there.
    public var isRunning: Bool { processID != nil }

    /// The server's process, as long as it is there.
    var processID: Int32? { postmaster.processID }

    /// A server that a dead owner left running is replaced rather than kept: it has that owner's settings, perhaps an
    /// older version's, and its clients died with the owner.
    private func takeOverAndStart() async throws(EmbeddedPostgresError) {
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
