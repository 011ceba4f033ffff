import Foundation

/// Decides which call is next. It does no I/O and has no clock: the driver performs one step after the other, and
/// reports the outcomes.
///
/// The order of calls is fixed: queued logouts, then the registration or a single token, then receipts. There is one
/// call at a time, and a registration always has the latest state.
struct RegistrationMachine: Sendable {
    enum Step: Sendable, Hashable {
        /// Nothing to do until the app reports an event.
        case idle
        case wait(until: Date)
        case readDevice
        /// Ask the app for the user's credential.
        case askCredential(turn: Int)
        /// Ask the app for the credential of the user who has signed out.
        case askLogoutCredential(UUID)
        case send(Call)
        case sendReceipts
    }

    struct Call: Sendable, Hashable {
        enum Purpose: Sendable, Hashable {
            case logout(UUID)
            /// `open` is an earlier attempt whose outcome is still unknown.
            case registration(
                SavedState.Attempt, topics: SavedState.Topics, tokens: [ReportedToken]?, open: SavedState.Attempt?)
            /// One token beside the one for alerts, or its removal.
            case token(ReportedToken)
        }

        let purpose: Purpose
        /// The turn in which it was sent. If the user has changed since, a refusal says nothing about the new user.
        let turn: Int
        let request: PushRegistryClient.Request
    }

    /// A registration that the registry has refused, and would refuse again.
    struct Halt: Sendable, Hashable {
        let problem: PushRegistryClient.Problem
        let digest: UInt64
        let turn: Int
        let at: Date
        var until: Date
        /// Whether the fault may be one of the registry's configuration or of a clock, not of the body.
        let mayPass: Bool
    }

    /// An unchanged registration is repeated after this time: the registry records `lastSeenAt` once a day, and a
    /// registration makes an installation active again after a provider's verdict (R10).
    static let repeatInterval: TimeInterval = 86_400
    /// After this time, an app in the foreground repeats a refused registration that may pass: a million phones with
    /// eager apps must not call a registry all the time that refuses them.
    static let haltSecondsMin: TimeInterval = 60

    let endpoint: Endpoint
    let key: String?

    // The durable state.
    var saved: SavedState
    var logouts: [QueuedLogout] = []
    /// Whether the storage was read. Nothing is sent before.
    private(set) var isLoaded = false
    /// Events that the app reported before the storage was read.
    var early: [Event] = []

    // Values that the app has reported in this process.
    var token: PushRegistryClient.DeviceToken?
    /// Why the system gave no token.
    var tokenFailure: String?
    var snapshot: PushRegistryClient.DeviceSnapshot?
    var deviceIsStale = true
    var hasCredential = false
    var hasReceipts = false
    /// The tokens beside the one for alerts that are certainly of this device.
    var reportedTokens: Set<ReportedToken.ID> = []

    // The state of the calls.
    /// Incremented whenever the user changes.
    var turn = 0
    /// The credential for the next registration; `lastCredential` is that of the last one.
    var freshCredential: String?
    var lastCredential: String?
    /// The credential of a user who was replaced without a sign-out, until the next registration is acknowledged.
    var replacedCredential: String?
    /// Whether the app called `signIn` and the user and the session have not been compared yet.
    var ownerIsUnchecked = false
    /// Whether the credential was renewed after a 401, and the new one was not refused yet.
    var isRenewed = false
    var omitsIfMatch = false
    /// Whether the registry has refused to change a single token, and no registration has succeeded since.
    var registersTokens = false
    /// Logouts without a credential for which the app may still return one.
    var openLogouts: Set<UUID> = []
    /// The turn that each logout of this process has ended.
    var logoutTurns: [UUID: Int] = [:]
    var retry: Retry?
    var receiptRetry: Retry?
    var halt: Halt?

    init(endpoint: Endpoint, key: String?) {
        self.endpoint = endpoint
        self.key = key
        saved = SavedState(installID: UUID().uuidString)
    }

    /// Takes over the content of the storage.
    ///
    /// - Parameter saved: nil if the storage is empty: this is a new installation.
    mutating func loaded(_ saved: SavedState?, _ logouts: [QueuedLogout], hasReceipts: Bool, at now: Date) {
        if let saved { self.saved = saved }
        self.logouts = logouts
        self.hasReceipts = hasReceipts || self.hasReceipts
        isLoaded = true
        retry = nil
        for event in early { handle(event, at: now) }
        early = []
    }

    /// The next step. The driver performs it, reports its outcome, and calls this again.
    mutating func next(at now: Date) -> Step {
        guard isLoaded else { return .idle }
        let step = registrationStep(at: now)
        guard hasReceipts else { return step }
        switch step {
        case .idle: return receiptStep(at: now)
        case .wait(let until):
            let receipts = receiptStep(at: now)
            if case .wait(let earlier) = receipts { return .wait(until: min(earlier, until)) }
            return receipts
        default: return step
        }
    }

    private func receiptStep(at now: Date) -> Step {
        if let receiptRetry, now < receiptRetry.until { return .wait(until: receiptRetry.until) }
        return .sendReceipts
    }

    private mutating func registrationStep(at now: Date) -> Step {
        dropExpiredTokens(at: now)
        guard token != nil || !logouts.isEmpty || tokenChange != nil else { return .idle }
        if let retry, now < retry.until { return .wait(until: retry.until) }
        // Reads the device before anything is sent: the state may have been copied from another device.
        if deviceIsStale {
            deviceIsStale = false
            return .readDevice
        }
        while let logout = logouts.first {
            if let step = step(for: logout) { return step }
            removeLogout(logout.id)
        }
        guard mayRegister else { return .idle }
        guard let body = body() else { return tokenChange == nil ? .idle : callStep(nil, isDue: false, rest: .idle) }
        let digest = body.digest
        if let halt, halt.digest == digest, halt.turn == turn, now < halt.until { return .wait(until: halt.until) }
        halt = nil
        let due = dueDate(digest)
        let isDue =
            now >= due || !body.topics.isEmpty || tokensNeedRegistration
            || saved.registration.map { now < $0.at } ?? true
        guard isDue || ownerIsUnchecked || tokenChange != nil else { return .wait(until: due) }
        return callStep(body, isDue: isDue, rest: .wait(until: due))
    }

    /// - Parameters:
    ///   - body: nil if the token for alerts is not known yet.
    ///   - rest: the step if nothing is to be sent.
    private mutating func callStep(_ body: SentRegistrationBody?, isDue: Bool, rest: Step) -> Step {
        var credential = key
        var owner: UInt64?
        if saved.account == .user {
            guard let fresh = freshCredential else { return .askCredential(turn: turn) }
            freshCredential = nil
            credential = fresh
            owner = Digest.owner(of: fresh)
            if body != nil { ownerIsUnchecked = false }
        }
        guard let credential else { return .idle }
        let isOfOther = owner != saved.registration?.owner
        if let body, isDue || isOfOther { return send(body, credential: credential, owner: owner) }
        guard !isOfOther, let change = tokenChange else { return rest }
        let request = endpoint.token(saved.installID, change, credential: credential)
        return .send(Call(purpose: .token(change), turn: turn, request: request))
    }

    /// Whether the credential of a registration is known: the user's by `signIn`, or the publishable key.
    private var mayRegister: Bool {
        switch saved.account {
        case .user: hasCredential
        case .anonymous: key != nil
        case .signedOut, .signedOutElsewhere: false
        }
    }

    /// When a registration with this digest is due, if nothing has changed.
    private func dueDate(_ digest: UInt64) -> Date {
        guard let last = saved.registration, saved.attempt == nil, last.digest == digest,
            saved.account == .user || last.owner == nil
        else { return .distantPast }
        return min(last.at + Self.repeatInterval, last.at + last.until.timeIntervalSince(last.at) / 2)
    }

    /// When the next call is due if nobody opens the app.
    var backgroundDate: Date? {
        if let retry { return retry.until }
        guard let last = saved.registration, saved.account == .user || saved.account == .anonymous else { return nil }
        return last.at + last.until.timeIntervalSince(last.at) / 2
    }

    private func body() -> SentRegistrationBody? {
        guard let token, let snapshot else { return nil }
        return SentRegistrationBody(
            token: token.text, provider: token.provider, settings: snapshot.settings, device: snapshot.device,
            installID: saved.installID, topics: saved.topics)
    }

    private mutating func send(_ body: SentRegistrationBody, credential: String, owner: UInt64?) -> Step {
        if owner != nil { checkUser(of: credential) }
        var body = body
        body.tokens = sentTokens
        let attempt = SavedState.Attempt(digest: body.digest, owner: owner)
        let purpose = Call.Purpose.registration(
            attempt, topics: body.topics, tokens: body.tokens, open: saved.attempt)
        saved.attempt = attempt
        lastCredential = owner == nil ? nil : credential
        let request = endpoint.registration(
            saved.installID, body, credential: credential, eTag: omitsIfMatch ? nil : saved.eTag)
        return .send(Call(purpose: purpose, turn: turn, request: request))
    }

    /// Nil if the logout has no credential, and so cannot succeed.
    private func step(for logout: QueuedLogout) -> Step? {
        if logout.credential == nil, openLogouts.contains(logout.id) { return .askLogoutCredential(logout.id) }
        guard let credential = logout.credential ?? key else { return nil }
        let request = endpoint.logout(logout, credential: credential)
        return .send(Call(purpose: .logout(logout.id), turn: turn, request: request))
    }

    mutating func removeLogout(_ id: UUID) {
        logouts.removeAll { $0.id == id }
        openLogouts.remove(id)
        logoutTurns[id] = nil
    }

    mutating func updateLogout(_ id: UUID, _ change: (inout QueuedLogout) -> Void) {
        guard let index = logouts.firstIndex(where: { $0.id == id }) else { return }
        change(&logouts[index])
    }
}
