import Foundation
import PushRegistryClient

/// Handles one push in a notification service extension: sends its receipt and fetches the notifications that were
/// missed before it.
///
/// It needs no user's credential. The storage is that of the app, in a folder of the app group that both share.
public struct NotificationHandler: Sendable {
    /// The values that the extension shows.
    public struct Outcome: Sendable, Hashable {
        /// The notifications before this push whose pushes did not arrive, in order.
        public var missed: [PushRegistryClient.MissedNotification] = []
        /// Whether this push was shown before.
        public var isRepeated = false
        /// Whether notifications are lost: the app should load the content from its own server.
        public var hasGap = false

        public init() {}
    }

    /// More than a policy's largest number of waiting notifications has pages, and gaps between them.
    private static let fetchesMax = 20
    /// How long the registry may delay a push: longer, and a slow registry would be noticed on every phone.
    public static let secondsMax: TimeInterval = 3

    private let url: URL
    private let app: String
    private let storage: any PushRegistryClient.Storage
    private let transport: any PushRegistryClient.Transport
    private let clock: any PushRegistryClient.Clock

    /// - Parameter transport: whatever its own timeout, ``handle(_:)`` gives it up after ``secondsMax``.
    public init(
        url: URL, app: String, storage: any PushRegistryClient.Storage,
        transport: any PushRegistryClient.Transport = PushRegistryClient.URLSessionTransport(timeout: secondsMax),
        clock: any PushRegistryClient.Clock = PushRegistryClient.SystemClock()
    ) {
        self.url = url
        self.app = app
        self.storage = storage
        self.transport = transport
        self.clock = clock
    }

    /// Returns when the receipt was sent and the missed notifications were fetched, or when this has failed, at the
    /// latest after ``secondsMax``. A receipt that could not be sent stays stored: the app or the next push sends it.
    /// The next push fetches what was not.
    public func handle(_ mark: PushMark) async -> Outcome {
        // Stores the receipt before anything is sent: the system may end the extension at any time.
        let spool = ReceiptSpool(storage: storage)
        if let receipt = mark.receipt { try? spool.add(receipt, .delivered, action: nil, at: clock.now) }
        let transport = PushRegistryClient.DeadlineTransport(
            transport, until: clock.now + Self.secondsMax, by: clock)
        async let sent: Void = spool.send(by: transport, to: url, app: app)
        let outcome = await outcome(of: mark.number, by: transport)
        await sent
        return outcome
    }

    private func outcome(
        of number: PushMark.Number?, by transport: any PushRegistryClient.Transport
    ) async -> Outcome {
        var outcome = Outcome()
        // A storage that cannot be read may have a position: then nothing is fetched, and nothing acknowledged.
        guard let number, case .success(let last) = Result(catching: { try DeliveryAccess.position(in: storage) })
        else {
            return outcome
        }
        switch DeliveryPlan(number, last: last) {
        case .repeated: outcome.isRepeated = true
        case .complete: try? DeliveryAccess.store(number.position, in: storage)
        case .fetch(let start):
            let end = await fetch(after: start, below: number, by: transport, into: &outcome)
            if end != start { try? DeliveryAccess.store(end, in: storage) }
        }
        return outcome
    }

    /// Fetches page by page: the fetch of a page acknowledges the one before.
    ///
    /// - Returns: the push's position if all notifications before it are fetched. Else the position of the last one
    ///   that is; the next push fetches the rest, and this push's notification once more.
    private func fetch(
        after start: PushRegistryClient.NotificationPosition, below push: PushMark.Number,
        by transport: any PushRegistryClient.Transport, into outcome: inout Outcome
    ) async -> PushRegistryClient.NotificationPosition {
        var position = start
        for _ in 0..<Self.fetchesMax {
            guard let access = try? DeliveryAccess(url: url, app: app, storage: storage),
                let response = try? await transport.send(access.request(after: position)),
                let result = PushRegistryClient.MissedNotifications.FetchResult(response)
            else { return position }
            switch result {
            case .page(let page):
                guard page.epoch == push.epoch else { return position }
                outcome.missed += page.notifications.filter { $0.number < push.number }
                guard let next = page.next, next.number < push.number else { return push.position }
                position = next
            case .gone(let first):
                outcome.hasGap = true
                // The push is for a former owner.
                guard first.epoch == push.epoch else { return position }
                position = first
            }
        }
        return position
    }
}
