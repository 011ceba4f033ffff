import CConsoleFiles

/// A file of the folder `Files`: a part of the page that the service shows at `/console/`.
public struct ConsoleFile: Sendable {
    /// Relative to the folder, such as `core/router.js`.
    public let path: String
    public let bytes: [UInt8]

    public init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    private init(_ file: console_file) {
        self.init(
            path: String(cString: file.path), bytes: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }

    /// All files, in the order of their paths. The binary contains them.
    public static var all: [ConsoleFile] {
        (0..<console_files_count()).map { ConsoleFile(console_file_at($0)) }
    }
}
