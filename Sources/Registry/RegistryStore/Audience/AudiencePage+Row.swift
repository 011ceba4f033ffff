import PostgresClient
import PushRegistry

extension AudiencePage.Item {
    init(_ row: PostgresRow) throws {
        let provider = try row.decode(1, as: String.self)
        let (token, known) = (try row.decode(2, as: String?.self), Provider(rawValue: provider))
        let (p256dh, auth) = (try row.decode(3, as: String?.self), try row.decode(4, as: String?.self))
        var keys: WebPushKeys?
        if let p256dh, let auth { keys = try WebPushKeys(p256dh: p256dh, auth: auth) }
        self.init(
            installID: try InstallID(row.decode(0)), provider: provider,
            token: try known.flatMap { provider in try token.map { try Token($0, of: provider) } }, keys: keys,
            generation: try row.decode(5), cell: try row.decode(6), userID: try row.decode(7))
    }
}
