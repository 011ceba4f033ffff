import Foundation
import Glibc
import PushRegistry

/// The report of rejected lines: one JSON object for each fault. It names file and line, and quotes nothing.
package final class RejectedLines: @unchecked Sendable {
    private struct Fault: Encodable {
        let file: String
        let line: Int
        let field: String?
        let code: String
        let reason: String
    }

    private static let bufferBytesMax = 64 * 1_024

    package let path: String
    private var handle: FileHandle?
    private var buffer = Data()
    private let encoder = JSONEncoder()

    /// Truncates the report of an earlier import. A new file is created only when the first line is rejected.
    ///
    /// Not thread-safe: only one thread may use it at a time.
    ///
    /// - Parameters:
    ///   - input: the imported files. They are never overwritten, even if `path` is another name of one.
    ///   - keepsOlder: whether an earlier report stays if no line is rejected.
    package init(path: String, readingFrom input: ImportFiles, keepsOlder: Bool) throws {
        self.path = path
        guard !input.contains(path) else {
            throw ImportFailure("\(path) is the imported file itself: use --rejects with another file.")
        }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return }
        guard !isDirectory.boolValue else { throw ImportFailure("\(path) is a folder: use --rejects with a file.") }
        if !keepsOlder { try open() }
    }

    func add(_ file: String, _ line: Int, _ faults: ImportFaults) throws {
        for fault in faults.faults {
            let field = fault.field.isEmpty ? nil : fault.field
            buffer += try encoder.encode(
                Fault(file: file, line: line, field: field, code: fault.reason.code, reason: fault.reason.detail))
            buffer.append(UInt8(ascii: "\n"))
        }
        if buffer.count >= Self.bufferBytesMax { try flush() }
    }

    func close() throws {
        try flush()
        try handle?.close()
        handle = nil
    }

    private func flush() throws {
        guard !buffer.isEmpty else { return }
        if handle == nil { try open() }
        try handle?.write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private func open() throws {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw ImportFailure(
                "\(path) cannot be written (\(String(cString: strerror(errno)))): use --rejects with another file.")
        }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
