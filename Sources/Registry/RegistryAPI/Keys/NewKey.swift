import Foundation
import PushRegistry

/// A new API key: `text` is shown once, in the response that creates it, and `key` is stored.
public struct NewKey: Sendable {
    public let text: String
    public let key: APIKey

    public init(of app: App, name: String, roles: Set<Role>) {
        let presented = PresentedKey()
        text = presented.text
        key = APIKey(
            id: presented.id, app: app.number, name: name, roles: roles, secretSHA256: presented.sha256,
            createdAt: Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)), revokedAt: nil)
    }
}
