import Foundation

// Calls that read from the registry. They need a registered installation.
extension PushRegistryClient {
    /// Fetches the notifications that wait for this installation, beginning after a position. The position is an
    /// acknowledgement: the registry deletes the notifications up to it.
    ///
    /// - Parameter position: nil fetches from the beginning and acknowledges nothing.
    /// - Throws: `Failure`.
    public func notifications(after position: NotificationPosition? = nil) async throws -> MissedNotifications {
        let id = try registeredInstallation()
        let endpoint = endpoint
        let response = try await response(preferring: machine.saved.delivery?.key) {
            endpoint.notifications(id, after: position, credential: $0)
        }
        if response.status == 410, let position = MissedNotifications.positionAfterGap(response.body) {
            throw Failure.notificationsGone(position: position)
        }
        guard response.isSuccess else { throw Failure.refused(response.problem) }
        do {
            return try MissedNotifications(json: response.body)
        } catch {
            throw Failure.unavailable(retryAfter: nil)
        }
    }

    /// Reports that a push was delivered, opened or dismissed. The receipt is stored at once, and sent together with
    /// others.
    ///
    /// - Parameters:
    ///   - receipt: the text in the push.
    ///   - event: `opened` and `dismissed` imply `delivered`.
    ///   - action: for example, the button that the user chose.
    ///   - date: the time of the event; nil means now.
    /// - Throws: `Failure.invalidValue`, or `.storageUnavailable`.
    public func receipt(_ receipt: String, _ event: ReceiptEvent, action: String? = nil, at date: Date? = nil) throws {
        do {
            try ReceiptSpool(storage: storage).add(receipt, event, action: action, at: date ?? clock.now)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure.storageUnavailable
        }
        machine.receiptStored()
        wake()
    }

    func registeredInstallation() throws -> String {
        load()
        guard machine.isLoaded else { throw Failure.storageUnavailable }
        guard machine.saved.account != .signedOutElsewhere else { throw Failure.signedOutElsewhere }
        guard machine.saved.registration != nil else { throw Failure.notRegistered }
        return machine.saved.installID
    }

    /// Sends a request with the first of these credentials that the registry accepts: the preferred one, the user's,
    /// the user's renewed one; without a user, the publishable key.
    ///
    /// - Throws: `Failure`, if none is accepted or there is no response.
    func response(
        preferring preferred: String? = nil, _ request: (_ credential: String) -> Request
    ) async throws -> Response {
        let turn = machine.turn
        let isUser = machine.saved.account == .user
        var refusal: Response?
        for attempt in 0..<3 {
            let text: String?
            switch attempt {
            case 0: text = preferred
            case 1: text = isUser ? await ask(credential) : key
            default: text = isUser ? await ask(credential) : nil
            }
            guard let text else { continue }
            guard let response = await response(to: request(text)) else {
                throw Failure.unavailable(retryAfter: nil)
            }
            guard !response.asksForRetry else {
                throw Failure.unavailable(retryAfter: response.retryAfter(at: clock.now))
            }
            guard response.status == 401 else { return response }
            refusal = response
            if attempt > 0, response.problem.code == "credential-ended" {
                machine.endedElsewhere(turn: turn)
                wake()
                throw Failure.signedOutElsewhere
            }
        }
        guard let refusal else { throw Failure.unavailable(retryAfter: nil) }
        throw Failure.refused(refusal.problem)
    }
}
