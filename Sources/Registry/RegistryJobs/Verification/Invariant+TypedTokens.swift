import PostgresClient
import PushRegistry

/// Tokens beside the main ones.
extension Invariant {
    static let typedTokens = [
        Invariant(
            "typed-token-holder", "118", "a typed token has one holder, whatever its names are",
            """
            SELECT app_id || '/' || min(install_id) || ' and ' || max(install_id) || ' have the same ' || kind
            FROM typed_token GROUP BY app_id, kind, token_sha256 HAVING min(install_id) <> max(install_id)
            """),
        Invariant(
            "typed-token-binding", "119", "an installation with typed tokens is of APNs, and active or suspect",
            """
            SELECT t.app_id || '/' || t.install_id FROM typed_token t
            WHERE NOT EXISTS (
                SELECT FROM installation i
                WHERE i.app_id = t.app_id AND i.install_id = t.install_id AND i.provider IN ('apns', 'apnsSandbox')
                    AND i.state IN ('active', 'suspect'))
            GROUP BY t.app_id, t.install_id
            """),
        Invariant(
            "typed-token-count", "116", "an installation has at most 16 typed tokens that have not expired",
            """
            SELECT app_id || '/' || install_id FROM typed_token WHERE coalesce(expires_at > now(), true)
            GROUP BY app_id, install_id HAVING count(*) > \(Int64(SentTypedToken.countMax))
            """),
        Invariant(
            "typed-token-digest", "118", "the digest of a typed token is its SHA-256",
            """
            SELECT app_id || '/' || install_id || ' ' || kind FROM typed_token
            WHERE token_sha256 <> sha256(convert_to(token, 'UTF8'))
            """),
        Invariant(
            "held-token", "R9", "a typed token that the breaker for feedback holds can be released",
            """
            SELECT t.app_id || '/' || t.install_id || ' ' || t.kind FROM typed_token t
            WHERE t.held AND coalesce(t.expires_at > now(), true) AND NOT EXISTS (
                SELECT FROM feedback_breaker b
                WHERE b.app_id = t.app_id AND b.provider = t.provider AND b.kind = t.kind::text
                    AND b.held_since <= t.held_at)
            """),
    ]
}
