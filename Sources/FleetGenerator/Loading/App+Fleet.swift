import PostgresClient
import PushRegistry

extension App {
    /// The app of this name, made with the standard policy if it is not there.
    ///
    /// Of a policy only what shapes a row is read: whether advertising ids are kept.
    public static func find(_ id: AppID, in database: PostgresConfiguration) async throws -> App {
        try await PostgresSession.withSession(database) { session in
            let row = try session.execute(
                """
                INSERT INTO app (identifier, policy) VALUES (\(id.rawValue), '{}')
                ON CONFLICT (identifier) DO UPDATE SET identifier = excluded.identifier
                RETURNING id, coalesce((policy ->> 'storeAdvertisingId')::boolean, false)
                """)[0]
            var draft = AppPolicy.Draft()
            draft.storesAdvertisingID = try row.decode(1)
            return App(number: AppNumber(try row.decode(0)), id: id, policy: try AppPolicy(draft))
        }
    }
}
