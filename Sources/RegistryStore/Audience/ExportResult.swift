import PostgresClient
import PushRegistry

/// The rows of an export in libpq's memory: the first column is the installation's id, then come those that were asked for.
struct ExportResult: ExportRows {
    private let result: PostgresResult
    private let times: [Bool]

    init(_ result: PostgresResult, _ columns: [ExportColumn]) {
        self.result = result
        times = columns.map { $0 == .field(.lastSeenAt) || $0 == .field(.createdAt) }
    }

    var count: Int { result.count }

    func withInstallID<Value>(_ row: Int, _ body: (RawSpan) -> Value) -> Value? {
        result[row].withBytes(0, body)
    }

    func withCell<Value>(_ row: Int, _ column: Int, _ body: (RawSpan) -> Value) -> Value? {
        guard times[column] else { return result[row].withBytes(column + 1, body) }
        guard let time = try? result[row].decode(column + 1, as: PostgresTimestamp?.self) else { return nil }
        return body(Array(Timestamp(time).description.utf8).span.bytes)
    }
}

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
            generation: try row.decode(5))
    }
}
