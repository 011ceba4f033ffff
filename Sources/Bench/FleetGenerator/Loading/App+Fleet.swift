import PostgresClient
import PushRegistry

extension App {
    /// Finds the app of this name, or creates it with the standard policy.
    ///
    /// Of its policy only the member that affects a row is read: whether advertising ids are stored.
    public static func find(_ id: AppID, in database: PostgresConfiguration) async throws -> App {
        try await PostgresSession.withSession(database) { session in
            let row = try session.execute(
                """
                WITH found AS (
                    INSERT INTO app (identifier, policy) VALUES (\(id.rawValue), '{}')
                    ON CONFLICT (identifier) DO UPDATE SET identifier = excluded.identifier
                    RETURNING id, coalesce((policy ->> 'storeAdvertisingId')::boolean, false) AS has_advertising_id
                ), state AS (INSERT INTO rollup_state (app_id) SELECT id FROM found ON CONFLICT DO NOTHING)
                SELECT id, has_advertising_id FROM found
                """)[0]
            var draft = AppPolicy.Draft()
            draft.storesAdvertisingID = try row.decode(1)
            return App(number: AppNumber(try row.decode(0)), id: id, policy: try AppPolicy(draft))
        }
    }
}
