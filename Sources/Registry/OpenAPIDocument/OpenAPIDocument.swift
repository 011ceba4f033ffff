import COpenAPIDocument

/// The description of the HTTP API.
public enum OpenAPIDocument {
    /// OpenAPI 3.1, with `{version}` in place of the build's version.
    public static let template = String(
        decoding: UnsafeBufferPointer(start: openapi_document_bytes(), count: openapi_document_count()), as: UTF8.self)
}
