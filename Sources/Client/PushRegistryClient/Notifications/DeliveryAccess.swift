import Foundation

/// The values that a notification service extension reads from the storage that it shares with the app. It does not
/// change the app's values.
package struct DeliveryAccess: Sendable {
    private static let positionName = "position"

    package let installID: String
    package let key: String
    private let endpoint: Endpoint

    /// - Returns: nil before the first registration, and after a logout.
    /// - Throws: if the storage cannot be read now.
    package init?(url: URL, app: String, storage: any PushRegistryClient.Storage) throws {
        guard let state = try StoredValue<SavedState>(SavedState.name).read(from: storage),
            let key = state.delivery?.key
        else { return nil }
        installID = state.installID
        self.key = key
        endpoint = Endpoint(url: url, app: app)
    }

    package func request(after position: PushRegistryClient.NotificationPosition) -> PushRegistryClient.Request {
        endpoint.notifications(installID, after: position, credential: key)
    }

    /// The position of the last notification that the extension has fetched or shown.
    package static func position(
        in storage: any PushRegistryClient.Storage
    ) throws -> PushRegistryClient.NotificationPosition? {
        try StoredValue(positionName).read(from: storage)
    }

    package static func store(
        _ position: PushRegistryClient.NotificationPosition, in storage: any PushRegistryClient.Storage
    ) throws {
        try StoredValue(positionName).write(position, to: storage, protection: .always)
    }
}

extension PushRegistryClient.MissedNotifications {
    /// The page in a response, or the position after a gap.
    package enum FetchResult: Sendable {
        case page(PushRegistryClient.MissedNotifications)
        case gone(PushRegistryClient.NotificationPosition)

        /// Nil for any other response.
        package init?(_ response: PushRegistryClient.Response) {
            if response.status == 410,
                let position = PushRegistryClient.MissedNotifications.positionAfterGap(response.body)
            {
                self = .gone(position)
            } else if response.isSuccess, let page = try? PushRegistryClient.MissedNotifications(json: response.body) {
                self = .page(page)
            } else {
                return nil
            }
        }
    }
}

extension ReceiptSpool {
    /// Sends the stored receipts, once.
    package func send(by transport: any PushRegistryClient.Transport, to url: URL, app: String) async {
        _ = await send(to: Endpoint(url: url, app: app)) { try? await transport.send($0) }
    }
}
