/// The description of the HTTP API. It has its own module because it compiles slowly and changes rarely.
public enum OpenAPIDocument {
    /// OpenAPI 3.1, with `{version}` in place of the build's version.
    public static let template = String(decoding: PackageResources.openapi_json, as: UTF8.self)
}
