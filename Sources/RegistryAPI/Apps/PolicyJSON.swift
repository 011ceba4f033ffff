import Foundation
import PushRegistry
import StrictJSON

/// An app with its policy, as it is shown: symmetric keys without what they sign with.
enum PolicyJSON {
    static func text(of app: App) -> JSONWriter {
        var writer = JSONWriter(capacity: 1_024)
        write(app, to: &writer)
        return writer
    }

    static func write(_ app: App, to writer: inout JSONWriter) {
        let policy = app.policy
        writer.object { writer in
            writer.member("app", app.id.rawValue)
            writer.member("touchInterval", policy.touchInterval.description)
            writer.name("staleAfter")
            writer.object { writer in
                for provider in Provider.allCases {
                    writer.name(provider.rawValue)
                    writer.string(policy.staleAfter[provider].description)
                }
            }
            writer.member("retention", policy.retention.description)
            writer.member("grace", policy.grace.description)
            writer.member("sessionTombstones", policy.sessionTombstones.description)
            writer.member("storeAdvertisingId", policy.storesAdvertisingID)
            writer.member("allowedOrigins", policy.allowedOrigins)
            writer.name("jwks")
            if let keys = policy.jwks.map({ KeySet(stored: $0) }) {
                writer.raw(keys.publicText.utf8)
            } else {
                writer.null()
            }
            writer.member("jwksURL", policy.jwksURL?.text)
            writer.member("jwtIssuer", policy.jwtIssuer)
            writer.member("jwtAudience", policy.jwtAudience)
            writer.member("sessionExpiryClaim", policy.sessionExpiryClaim)
            writer.member("allowIncompleteTokens", policy.allowsIncompleteTokens)
            writer.name("rateLimits")
            writer.object { writer in
                writer.limit("perKey", policy.rateLimits.perKey)
                writer.limit("perAddress", policy.rateLimits.perAddress)
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func limit(_ name: StaticString, _ limit: AppPolicy.RateLimit?) {
        self.name(name)
        guard let limit else { return null() }
        object { writer in
            writer.member("rate", limit.rate)
            writer.member("burst", limit.burst)
        }
    }
}
