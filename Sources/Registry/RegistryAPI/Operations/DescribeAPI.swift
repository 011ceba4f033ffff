// GET /openapi.json
// GET /

import Basics
import CEmbeddedFiles
import Crypto
import HTTPApplication
import HTTPTypes
import HTTPWire

/// The OpenAPI 3.1 description of this API.
///
/// Tests compare it with the routes, with the roles that they require, and with real responses.
public struct APIDescription: Sendable {
    let text: [UInt8]
    /// The entity tag of `text`, with quotes.
    let entityTag: String

    /// - Parameter version: the version of the build.
    public init(version: String) {
        text = Array(
            String(decoding: EmbeddedFile.openAPI.bytes, as: UTF8.self).replacing("{version}", with: version).utf8)
        entityTag = "\"\(String(hex: SHA256.hash(data: text).prefix(16)))\""
    }

    /// Whether the client has this text already (RFC 9110, section 13.1.2: a weak comparison).
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
            return ServerResponse(.ok, fields: fields, body: .constant(description.text))
        }
    }

    /// What a person finds who opens the service's address in a browser. The links are relative, for services behind a
    /// proxy that passes a part of its paths.
    var linkPage: Route {
        let page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><title>push-registry</title>
            <h1>push-registry</h1>
            <ul>
            <li><a href="console/">The console</a>: audiences, topics and messages, for people
            <li><a href="openapi.json">The API</a>, as an OpenAPI description
            <li><a href="errors">Its errors</a>, and what to do
            </ul>

            """
        let fields: HTTPFields = [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-cache",
            .contentSecurityPolicy: "default-src 'none'", .xContentTypeOptions: "nosniff",
        ]
        return Route(.get, "/", constant: ServerResponse(.ok, fields: fields, body: .constant(Array(page.utf8))))
    }
}

/// A file that the binary contains.
public struct EmbeddedFile: Sendable {
    /// Relative to the folder of its kind.
    public let path: String
    public let bytes: [UInt8]

    public init(path: String, bytes: [UInt8]) {
        (self.path, self.bytes) = (path, bytes)
    }

    private init(_ file: embedded_file) {
        self.init(
            path: String(cString: file.path), bytes: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }

    /// The files of the page at `/console/`, in the order of their paths. `.ci/console-files` makes them.
    public static var console: [EmbeddedFile] {
        (0..<console_files_count()).map { EmbeddedFile(console_file_at($0)) }
    }

    /// OpenAPI 3.1, with `{version}` in place of the build's version.
    static let openAPI = EmbeddedFile(openapi_document())
}
