import Foundation
import PushRegistryClient

/// Handles one push in a notification service extension: sends its receipt and fetches what was missed before it.
///
/// It needs no sign-in. The storage is the app's, in a folder of the app group that both share.
public struct NotificationHandler: Sendable {
    /// What the extension shows.
    public struct Outcome: Sendable, Hashable {
        /// Notifications before this push that never arrived, in order.
        public var missed: [PushRegistryClient.MissedNotification] = []
        /// This push was shown before.
        public var isRepeated = false
        /// Some notifications are gone: let the app ask its own server.
        public var hasGap = false

        public init() {}
    }

    private let url: URL
    private let app: String
    private let storage: any PushRegistryClient.Storage
    private let transport: any PushRegistryClient.Transport
    private let clock: any PushRegistryClient.Clock

    /// - Parameter transport: with a time-out that fits into the extension's 30 seconds.
    public init(
        url: URL, app: String, storage: any PushRegistryClient.Storage,
        transport: any PushRegistryClient.Transport = PushRegistryClient.URLSessionTransport(timeout: 10),
        clock: any PushRegistryClient.Clock = PushRegistryClient.SystemClock()
    ) {
        self.url = url
        self.app = app
        self.storage = storage
        self.transport = transport
        self.clock = clock
    }

    /// Returns once the receipt was sent and missed notifications were fetched, or neither is possible now. A receipt
    /// that could not be sent is stored: the app or the next push sends it.
    public func handle(_ mark: PushMark) async -> Outcome {
        // Durable before anything is sent: the system may end the extension at any time.
        let spool = ReceiptSpool(storage: storage)
        if let receipt = mark.receipt { try? spool.add(receipt, .delivered, action: nil, at: clock.now) }
        async let sent: Void = spool.send(by: transport, to: url, app: app)
        let outcome = await outcome(of: mark.number)
        await sent
        return outcome
    }

    private func outcome(of number: PushMark.Number?) async -> Outcome {
        var outcome = Outcome()
        // A storage that cannot be read may know the position: then nothing is fetched, and nothing acknowledged.
        guard let number, case .success(let last) = Result(catching: { try DeliveryAccess.position(in: storage) })
        else {
            return outcome
        }
        switch DeliveryPlan(number, last: last) {
        case .repeated:
            outcome.isRepeated = true
            return outcome
        case .complete: break
        case .fetch(let position):
            guard await fetch(after: position, below: number, into: &outcome) else { return outcome }
        }
        try? DeliveryAccess.store(number.position, in: storage)
        return outcome
    }

    /// - Returns: whether nothing below the push is missing any more. If not, the next push tries again.
    private func fetch(
        after position: PushRegistryClient.NotificationPosition, below push: PushMark.Number,
        into outcome: inout Outcome
    ) async -> Bool {
        var position = position
        // A full inbox is one page. The second attempt is the one after a gap.
        for _ in 0..<2 {
            guard let access = try? DeliveryAccess(url: url, app: app, storage: storage),
                let response = try? await transport.send(access.request(after: position)),
                let answer = PushRegistryClient.MissedNotifications.Answer(response)
            else { return false }
            switch answer {
            case .page(let page):
                guard page.epoch == push.epoch else { return false }
                outcome.missed = page.notifications.filter { $0.number < push.number }
                return true
            case .gone(let next):
                outcome.hasGap = true
                // The push is for an owner who left.
                guard next.epoch == push.epoch else { return false }
                position = next
            }
        }
        return false
    }
}
