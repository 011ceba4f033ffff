import Foundation

extension PushRegistryClient {
    /// The position of the last notification that the app has handled. Store it together with the result of handling
    /// it.
    public struct NotificationPosition: Sendable, Hashable, Codable {
        /// The epoch, which changes with the owner. Numbers begin at 1 in each epoch.
        public var epoch: String
        public var number: Int64

        public init(epoch: String, number: Int64) {
            self.epoch = epoch
            self.number = number
        }
    }

    /// A page of the notifications that wait for this installation, in order.
    public struct MissedNotifications: Sendable, Hashable {
        /// The most notifications of one page.
        public static let countMax = 100

        public var epoch: String
        public var notifications: [MissedNotification]
        /// The highest number that the epoch has used.
        public var last: Int64
        /// The position with which to fetch the next page; nil at the end.
        public var next: NotificationPosition?

        /// The position after this page. Fetch with it when the page is handled: the registry then deletes the
        /// notifications up to it.
        public var position: NotificationPosition {
            NotificationPosition(epoch: epoch, number: notifications.last?.number ?? last)
        }
    }

    /// A notification as its sender stored it.
    public struct MissedNotification: Sendable, Hashable {
        public var number: Int64
        public var payload: JSON
        public var at: Date
        public var expiresAt: Date
        public var collapseId: String?
    }
}

extension PushRegistryClient.MissedNotifications {
    /// - Throws: `DecodingError`.
    init(json: Data) throws {
        let page = try JSONDecoder().decode(Page.self, from: json)
        epoch = page.epoch
        last = page.last
        next = page.next.map { .init(epoch: page.epoch, number: $0) }
        notifications = try page.notifications.map { item in
            guard let at = Date(rfc3339: item.at), let expiresAt = Date(rfc3339: item.expiresAt) else {
                throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "an invalid time"))
            }
            return .init(
                number: item.number, payload: item.payload, at: at, expiresAt: expiresAt, collapseId: item.collapseId)
        }
    }

    private struct Page: Decodable {
        struct Item: Decodable {
            var number: Int64
            var payload: PushRegistryClient.JSON
            var at: String
            var expiresAt: String
            var collapseId: String?
        }

        var epoch: String
        var notifications: [Item]
        var last: Int64
        var next: Int64?
    }

    /// The position with which to fetch after 410 `notifications-gone`. It is before the first one that still waits.
    static func positionAfterGap(_ problem: Data) -> PushRegistryClient.NotificationPosition? {
        struct Gap: Decodable {
            var epoch: String
            var first: Int64
        }
        return (try? JSONDecoder().decode(Gap.self, from: problem)).map { .init(epoch: $0.epoch, number: $0.first - 1) }
    }
}
