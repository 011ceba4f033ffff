/// The description of the HTTP API, in a module of its own: it takes as long to compile as much code does, and changes
/// less often.
public enum OpenAPIDocument {
    /// OpenAPI 3.1, with `{version}` where the build's version is to stand.
    public static let template = String(decoding: PackageResources.openapi_json, as: UTF8.self)
}
