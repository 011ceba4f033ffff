import CEmbeddedFiles

/// A file that the binary contains.
public struct EmbeddedFile: Sendable {
    /// Relative to the folder of its kind.
    public let path: String
    public let bytes: [UInt8]

    public init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
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
