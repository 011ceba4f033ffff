import Foundation

/// Keeps one installation of an app registered.
///
/// Create one client for an app, and keep it as long as the process lives. Report events in any order; the client
/// decides what to send, and when. Calls return before the registry has responded: see ``states``.
///
///     let push = PushRegistryClient(url: url, app: "com.example.mail", key: "prk_…", storage: .files)
///     await push.signIn { try await auth.accessToken() }
///     await push.didRegister(deviceToken: token)
public actor PushRegistryClient {
    /// Returns the credential of the user who is signed in: a JWT. It is called for every request, and once more if the
    /// registry refuses the credential. After 30 seconds without a result the client cancels it, and tries again later.
    public typealias Credential = @Sendable () async throws -> String

    /// Reads the device and its notification settings.
    public typealias DeviceReader = @Sendable () async throws -> DeviceSnapshot

    let storage: any Storage
    let transport: any Transport
    let clock: any Clock
    let endpoint: Endpoint
    let key: String?
    private let readDevice: DeviceReader
    private let jitter: @Sendable () -> Double
    private let services: SystemServices

    var machine: RegistrationMachine
    /// The credential of the user who is signed in.
    var credential: Credential?
    /// The closures of users who have signed out, by logout: the logout may still need a JWT.
    private var leaving: [UUID: Credential] = [:]

    private var isWorking = false
    private var sleeper: Task<Void, Never>?
    /// Waits for the network, while a failed call waits.
    private var listener: Task<Void, Never>?
    /// Ends the time in the background for a logout.
    private var stopRunning: (@Sendable () -> Void)?
    private var settledWaiters: [CheckedContinuation<Void, Never>] = []
    private var observers: [UUID: AsyncStream<State>.Continuation] = [:]
    private var published: State?
    private var stored: (state: SavedState?, logouts: [QueuedLogout]) = (nil, [])

    /// - Parameters:
    ///   - url: the registry's address, such as `https://push.example.com`.
    ///   - app: the app's identifier in the registry.
    ///   - key: the app's publishable key, a key with the role `client`. With it, the client also registers without a
    ///     user, until the first `signIn`. Nil: it registers only for users.
    ///   - storage: keeps the installation's identity and queued calls.
    ///   - device: reads the device at each `refresh()`.
    ///   - transport: sends the requests.
    ///   - clock: replaced by tests.
    ///   - jitter: returns a random number, at least 0 and less than 1; replaced by tests.
    public init(
        url: URL, app: String, key: String?, storage: any Storage,
        device: @escaping DeviceReader = { try await DeviceSnapshot.current() },
        transport: any Transport = URLSessionTransport(), clock: any Clock = SystemClock(),
        jitter: @escaping @Sendable () -> Double = { .random(in: 0..<1) }
    ) {
        self.init(
            url: url, app: app, key: key, storage: storage, device: device, transport: transport, clock: clock,
            jitter: jitter, services: .current)
    }

    init(
        url: URL, app: String, key: String?, storage: any Storage, device: @escaping DeviceReader,
        transport: any Transport, clock: any Clock, jitter: @escaping @Sendable () -> Double, services: SystemServices
    ) {
        endpoint = Endpoint(url: url, app: app)
        self.key = key
        self.storage = storage
        self.readDevice = device
        self.transport = transport
        self.clock = clock
        self.jitter = jitter
        self.services = services
        machine = RegistrationMachine(endpoint: endpoint, key: key)
    }

    deinit {
        sleeper?.cancel()
        listener?.cancel()
        stopRunning?()
        for observer in observers.values { observer.finish() }
    }
}

// MARK: - What the app reports

extension PushRegistryClient {
    /// Reports that a user is signed in: call it at each launch, and after each sign-in. The user may be another one
    /// than before.
    public func signIn(credential: @escaping Credential) {
        load()
        machine.handle(.signIn, at: clock.now)
        self.credential = credential
        wake()
    }

    /// Reports a token of the system.
    ///
    /// - Parameters:
    ///   - deviceToken: the bytes that the system passed to the app.
    ///   - provider: nil means `apns` or `apnsSandbox`, as this build was signed.
    public func didRegister(deviceToken: Data, provider: Provider? = nil) {
        didRegister(token: deviceToken.hexadecimal, provider: provider ?? .ofThisBuild)
    }

    /// Reports the Firebase installation id of an app that registers with FCM by it: each element that `onRegistered`
    /// or `messaging(_:didReceiveRegistration:)` passes.
    public func didRegister(fid: String) {
        didRegister(token: fid, provider: .fcm)
    }

    /// Reports a registration token of FCM. Of this token and the installation id, FCM delivers to one at a time: the
    /// last one that the app reports counts.
    public func didRegister(fcmToken: String) {
        didRegister(token: fcmToken, provider: .fcm)
    }

    /// Reports a token that is a text.
    public func didRegister(token: String, provider: Provider) {
        machine.didRegister(DeviceToken(text: token, provider: provider), at: clock.now)
        wake()
    }

    /// Reports that the system gave no token: call it in `didFailToRegisterForRemoteNotificationsWithError`.
    public func didFailToRegister(_ error: any Error) {
        machine.tokenFailure = error.localizedDescription
        wake()
    }

    /// Reports that something may have changed: the app came to the foreground, or the permission, the locale or the
    /// time zone changed. Any number of calls leads to at most one request, and to none if nothing changed.
    public func refresh() {
        machine.refresh(at: clock.now)
        wake()
    }

    /// Reports that the user signed out. It returns as soon as the logout is stored. The client sends the logout as
    /// soon as it reaches the registry, and before any later registration. Meanwhile it asks the system not to suspend
    /// the app: the phone may go into the pocket now.
    ///
    /// - Parameter keepAnonymous: whether the installation stays registered without a user.
    /// - Throws: `Failure.storageUnavailable` if the logout cannot be stored. The client sends it nevertheless, if the
    ///   process lives long enough.
    public func signOut(keepAnonymous: Bool = false) throws {
        load()
        if let id = machine.handle(.signOut(keepAnonymous: keepAnonymous), at: clock.now) { leaving[id] = credential }
        credential = nil
        if stopRunning == nil { stopRunning = services.keepRunning() }
        defer { wake() }
        guard persist() else { throw Failure.storageUnavailable }
    }

    /// Waits until there is nothing to send now: everything was sent, or the next attempt has to wait. Call it before
    /// the end of a background task.
    ///
    /// - Returns: the state at that time.
    @discardableResult
    public func settled() async -> State {
        if isWorking { await withCheckedContinuation { settledWaiters.append($0) } }
        return machine.state
    }

    /// The current state, and each later one. A slow reader misses intermediate states, never the latest.
    public nonisolated var states: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
        Task { await self.observe(continuation) }
        return stream
    }

    private func observe(_ observer: AsyncStream<State>.Continuation) {
        load()
        let id = UUID()
        observers[id] = observer
        observer.onTermination = { [weak self] _ in Task { await self?.removeObserver(id) } }
        observer.yield(machine.state)
    }

    private func removeObserver(_ id: UUID) {
        observers[id] = nil
    }

    private func publish() {
        let state = machine.state
        guard state != published else { return }
        published = state
        for observer in observers.values { observer.yield(state) }
    }
}

// MARK: - The driver

extension PushRegistryClient {
    /// Performs steps until nothing is left to do now. The same run handles reports that come meanwhile.
    func wake() {
        sleeper?.cancel()
        sleeper = nil
        listener?.cancel()
        listener = nil
        publish()
        guard !isWorking else { return }
        isWorking = true
        Task { await self.work() }
    }

    private func work() async {
        while let step = nextStep() {
            await perform(step)
            _ = persist()
            publish()
        }
        _ = persist()
        isWorking = false
        stopRunning?()
        stopRunning = nil
        for waiter in settledWaiters { waiter.resume() }
        settledWaiters = []
    }

    /// Nil if there is nothing to do now. Then a task sleeps until the next step is due.
    private func nextStep() -> RegistrationMachine.Step? {
        load()
        guard machine.isLoaded else {
            machine.unavailable(at: clock.now, jitter: jitter())
            publish()
            if let retry = machine.retry { sleep(until: retry.until) }
            return nil
        }
        let step = machine.next(at: clock.now)
        publish()
        switch step {
        case .idle: return nil
        case .wait(let until):
            sleep(until: until)
            return nil
        default: return step
        }
    }

    private func sleep(until date: Date) {
        sleeper?.cancel()
        sleeper = Task { [weak self, clock] in
            guard (try? await clock.sleep(until: date)) != nil else { return }
            await self?.wake()
        }
        listener?.cancel()
        guard machine.retry != nil else { return }
        listener = Task { [weak self, services] in
            await services.networkReturn()
            if !Task.isCancelled { await self?.refresh() }
        }
    }

    private func perform(_ step: RegistrationMachine.Step) async {
        switch step {
        case .idle, .wait: break
        case .readDevice:
            if let snapshot = await result(within: Self.appSecondsMax, of: readDevice) {
                machine.deviceRead(snapshot)
            } else {
                machine.deviceUnavailable(at: clock.now, jitter: jitter())
            }
        case .askCredential(let turn):
            guard let text = await ask(credential) else {
                if turn == machine.turn { machine.unavailable(at: clock.now, jitter: jitter()) }
                return
            }
            machine.credential(text, turn: turn)
        case .askLogoutCredential(let id):
            let text = await ask(leaving.removeValue(forKey: id))
            machine.logoutCredential(text, id: id)
        case .send(let call):
            // Stores the attempt first, so the next process knows it even if this one ends now.
            guard persist() else { return machine.unavailable(at: clock.now, jitter: jitter()) }
            let response = await response(to: call.request)
            machine.finished(call, response, at: clock.now, jitter: jitter())
        case .sendReceipts:
            let spool = ReceiptSpool(storage: storage)
            let (response, remain) = await spool.send(to: endpoint) { await self.response(to: $0) }
            machine.receiptsSent(response, remain: remain, at: clock.now, jitter: jitter())
        }
    }

    /// Nil if the app has no credential now, or does not return one in time.
    func ask(_ credential: Credential?) async -> String? {
        guard let credential else { return nil }
        return await result(within: Self.appSecondsMax, of: credential)
    }

    /// Nil without a response in time.
    func response(to request: Request) async -> Response? {
        await result(within: Self.responseSecondsMax) { [transport] in try await transport.send(request) }
    }

    /// Nil if the work fails, or is not done in time.
    private func result<Value: Sendable>(
        within seconds: TimeInterval, of work: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        await clock.result(until: clock.now + seconds, of: work)
    }

    /// The time limit for the app to return a credential, and for the system to describe the device.
    private static let appSecondsMax: TimeInterval = 30
    /// The time limit for a transport, in addition to its own timeout.
    private static let responseSecondsMax: TimeInterval = 60
}

// MARK: - Storage

extension PushRegistryClient {
    /// Reads the storage, once. A storage that cannot be read does not count as empty: then the client sends nothing,
    /// and reads it again later.
    func load() {
        guard !machine.isLoaded else { return }
        do {
            let state = try StoredValue<SavedState>(SavedState.name).read(from: storage)
            let logouts = try StoredValue<[QueuedLogout]>(QueuedLogout.name).read(from: storage) ?? []
            let hasReceipts = try !ReceiptSpool(storage: storage).isEmpty
            stored = (state, logouts)
            machine.loaded(state, logouts, hasReceipts: hasReceipts, at: clock.now)
        } catch {
            // The storage cannot be read now. `wake` tries again later.
        }
    }

    /// Writes the values that have changed.
    ///
    /// - Returns: whether the storage has the present state.
    func persist() -> Bool {
        guard machine.isLoaded else { return false }
        do {
            if stored.logouts != machine.logouts {
                try StoredValue<[QueuedLogout]>(QueuedLogout.name).write(
                    machine.logouts.isEmpty ? nil : machine.logouts, to: storage, protection: .afterFirstUnlock)
                stored.logouts = machine.logouts
            }
            if stored.state != machine.saved {
                try StoredValue<SavedState>(SavedState.name).write(machine.saved, to: storage, protection: .always)
                stored.state = machine.saved
            }
            return true
        } catch {
            return false
        }
    }
}
