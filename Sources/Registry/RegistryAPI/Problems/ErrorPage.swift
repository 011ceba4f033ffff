// GET /errors: the `type` of every problem document links to an entry of this page.

import HTTPApplication
import HTTPTypes
import HTTPWire
import StrictJSON

/// An HTML page with an entry for each code of a problem document (RFC 9457, section 3.1.1).
///
/// The entries are the examples of errors in the OpenAPI description, and the errors of the HTTP engine.
public struct ErrorPage: Sendable {
    static let path = "/errors"

    let text: [UInt8]

    private struct Entry {
        let code: String
        let status: Int
        /// Code is in backticks.
        let advice: String
    }

    public init() {
        let described = Self.describedErrors
        let codes = Set(described.map(\.code))
        let wire = WireError.Reason.allCases.map(WireError.init).filter { !codes.contains($0.reason.rawValue) }
        let entries =
            described
            + wire.map { Entry(code: $0.reason.rawValue, status: $0.status.code, advice: $0.detail) }
        let sections = entries.sorted { ($0.status, $0.code) < ($1.status, $1.code) }.map(Self.section).joined()
        text = Array((Self.head + sections).utf8)
    }

    /// A relative link: the service does not know its public host name.
    static func link(to code: String) -> String { "\(path)#\(code)" }

    /// `components.examples` of the OpenAPI description.
    private static var describedErrors: [Entry] {
        let document = try? JSONDocument(EmbeddedFile.openAPI.bytes, depthMax: 64)
        let examples = document?.root.object()?.object("components")?.object("examples")?.members ?? []
        return examples.compactMap { code, example in
            let example = example.object()
            guard let status = example?.object("value")?.integer("status"),
                let advice = example?.string("summary", scalarsMax: 1_024)
            else { return nil }
            return Entry(code: code, status: Int(status), advice: advice)
        }
    }

    private static func section(_ entry: Entry) -> String {
        """
        <section id="\(entry.code)"><h2>\(entry.status) <code>\(entry.code)</code></h2>
        <p>\(html(entry.advice))</p></section>

        """
    }

    /// Escapes a text and turns backticks into `<code>`.
    private static func html(_ text: String) -> String {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        let parts = escaped.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.isMultiple(of: 2) ? "\($1)" : "<code>\($1)</code>" }.joined()
    }

    private static let head = """
        <!doctype html>
        <html lang="en"><meta charset="utf-8"><title>Errors of push-registry</title>
        <h1>Errors of push-registry</h1>
        <p>Every error is a problem document (RFC 9457). Programs decide by <code>code</code>; <code>type</code> links
        to the entry on this page. <code>errors</code> lists every fault of the request with its position.
        <a href="/openapi.json">/openapi.json</a> describes the API.</p>

        """
}

extension RegistryService {
    var describeErrors: Route {
        let page = errorPage.text
        return Route(.get, ErrorPage.path) { _ in
            let fields: HTTPFields = [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-cache",
                .contentSecurityPolicy: "default-src 'none'", .xContentTypeOptions: "nosniff",
            ]
            return ServerResponse(.ok, fields: fields, body: .constant(page))
        }
    }
}
