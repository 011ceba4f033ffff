// GET /openapi.json

import Crypto
import HTTPServer
import HTTPTypes
import HTTPWire
import OpenAPIDocument

/// The description of this API in OpenAPI 3.1, as it is served.
///
/// Tests hold it to the routes, to the roles that they ask for, and to what they really answer.
public struct APIDescription: Sendable {
    let text: [UInt8]
    /// Of this text, quotes included.
    let entityTag: String

    /// - Parameter version: of the build.
    public init(version: String) {
        text = Array(OpenAPIDocument.template.replacing("{version}", with: version).utf8)
        entityTag = "\"" + SHA256.hash(data: text).prefix(16).map { String($0, radix: 16) }.joined() + "\""
    }

    /// Whether the caller has this text already (RFC 9110, section 13.1.2: a weak comparison).
    fileprivate func isKnown(_ ifNoneMatch: String?) -> Bool {
        guard let ifNoneMatch else { return false }
        return ifNoneMatch == "*" || ifNoneMatch.contains(entityTag)
    }
}

extension RegistryService {
    var describeAPI: Route {
        Route(.get, "/openapi.json") { request in
            let description = apiDescription
            let validator: HTTPFields = [.eTag: description.entityTag, .cacheControl: "no-cache"]
            if description.isKnown(request.head[.ifNoneMatch]) {
                return ServerResponse(.notModified, fields: validator)
            }
            var fields = validator
            fields[.contentType] = "application/json"
            return ServerResponse(.ok, fields: fields, body: .bytes(description.text))
        }
    }
}
