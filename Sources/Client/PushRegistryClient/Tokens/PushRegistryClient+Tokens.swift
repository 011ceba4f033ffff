import Foundation

// Tokens beside the one for alerts. Only iOS has them, so the client sends them with the providers `apns` and
// `apnsSandbox` only.
extension PushRegistryClient {
    /// Reports the token that starts Live Activities: each element of `pushToStartTokenUpdates`.
    ///
    /// The client stores the token, and sends it with the next registration, or at once if nothing else has changed.
    /// A sign-out drops it: report `Activity.pushToStartToken` again after the next sign-in.
    ///
    /// - Returns: false if the registry would refuse the token. Then it is not stored.
    @discardableResult
    public func didReceive(pushToStartToken: Data) -> Bool {
        didReceive(token: pushToStartToken, kind: .liveActivityStart)
    }

    /// Reports the token that updates an activity: each element of its `pushTokenUpdates`.
    ///
    /// - Parameters:
    ///   - liveActivityToken: the bytes, as ActivityKit passes them.
    ///   - activity: what the sender calls the activity, such as the number of a trip, or its id.
    ///   - expiresAt: when the activity ends at the latest. Nil means 12 hours from now.
    /// - Returns: as `didReceive(pushToStartToken:)`.
    @discardableResult
    public func didReceive(liveActivityToken: Data, activity: String, expiresAt: Date? = nil) -> Bool {
        didReceive(token: liveActivityToken, kind: .liveActivity, name: activity, expiresAt: expiresAt)
    }

    /// Reports a token of any kind.
    ///
    /// An installation has at most 16 of them. One more replaces the one that expires first, and of those that do not
    /// expire, the one that was reported first.
    ///
    /// - Parameters:
    ///   - token: the bytes, as the framework passes them.
    ///   - kind: what the token is for.
    ///   - name: distinguishes tokens of one kind, and is required for `liveActivity`: 1 to 128 visible ASCII
    ///     characters, other than `-`, `.` and `..`.
    ///   - expiresAt: from then on, the registry does not hand it out. Nil means 12 hours from now for `liveActivity`,
    ///     90 days for `liveActivityStart`, and never for other kinds.
    /// - Returns: as `didReceive(pushToStartToken:)`.
    @discardableResult
    public func didReceive(token: Data, kind: TokenKind, name: String? = nil, expiresAt: Date? = nil) -> Bool {
        let id = ReportedToken.ID(kind: kind, name: name)
        guard let token = ReportedToken(token, id, expiresAt: expiresAt, at: clock.now) else { return false }
        report(.receive(token))
        return true
    }

    /// Reports that an activity has ended.
    public func didEnd(activity: String) {
        didInvalidate(.liveActivity, name: activity)
    }

    /// Reports that a token is not valid any more: for example, in `pushRegistry(_:didInvalidatePushTokenFor:)`.
    public func didInvalidate(_ kind: TokenKind, name: String? = nil) {
        report(.invalidate(ReportedToken.ID(kind: kind, name: name)))
    }

    private func report(_ event: RegistrationMachine.Event) {
        load()
        machine.handle(event, at: clock.now)
        _ = persist()
        wake()
    }
}
