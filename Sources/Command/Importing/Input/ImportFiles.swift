import Foundation
import Glibc
import Synchronization

/// The files of an import, open from the start, so that nothing is loaded if one is missing.
package struct ImportFiles {
    /// One file to read: a file as it is, or a file of an archive.
    struct Part {
        /// For reports: `fleet.csv`, `-`, `export.zip/part-1.json`.
        let name: String
        /// The argument of the command.
        let file: String
        let bytes: PeekableBytes
    }

    private let names: [String]
    private let handles: [FileHandle]
    package let progress: InputProgress

    /// - Throws: `UnreadableFile` for the first one that cannot be read.
    package init(_ names: [String]) throws {
        self.names = names
        handles = try names.map(Self.open)
        let sizes = handles.map { Self.size($0) }
        progress = InputProgress(total: sizes.contains { $0 == nil } ? nil : sizes.compactMap(\.self).reduce(0, +))
    }

    package struct UnreadableFile: Error {
        package let name: String
    }

    /// Whether the file of this name is known to be empty.
    package func isEmpty(_ name: String) -> Bool {
        zip(names, handles).contains { $0 == name && Self.size($1) == 0 }
    }

    /// Whether the path is one of these files, also through a link or a redirection.
    func contains(_ path: String) -> Bool {
        var named = stat()
        guard stat(path, &named) == 0 else { return false }
        return handles.contains { handle in
            var opened = stat()
            guard fstat(handle.fileDescriptor, &opened) == 0 else { return false }
            return named.st_dev == opened.st_dev && named.st_ino == opened.st_ino
        }
    }

    /// Copies standard input to a file without a name, so that it can be read twice.
    package mutating func keepStandardInput() throws {
        self = ImportFiles(names, try handles.map { try Self.size($0) == nil ? Self.copy($0) : $0 })
    }

    private init(_ names: [String], _ handles: [FileHandle]) {
        (self.names, self.handles) = (names, handles)
        progress = InputProgress(total: handles.compactMap(Self.size).reduce(0, +))
    }

    /// Reads the files from their beginning, one part after the other.
    ///
    /// - Parameter body: returns false to stop.
    func forEachPart(_ body: (Part) throws -> Bool) throws {
        progress.restart()
        for (name, handle) in zip(names, handles) {
            if Self.size(handle) != nil { try handle.seek(toOffset: 0) }
            let bytes = PeekableBytes(FileBytes(handle, progress: progress))
            do {
                guard try Self.forEachPart(of: Part(name: name, file: name, bytes: bytes), body) else { return }
            } catch is InputDamaged {
                throw ImportFailure("\(name) is damaged.")
            } catch is InputEndsEarly {
                throw ImportFailure("\(name) is cut off.")
            }
        }
    }

    /// An archive's files may be compressed once more.
    private static func forEachPart(of part: Part, depth: Int = 0, _ body: (Part) throws -> Bool) throws -> Bool {
        if part.bytes.peek(2).elementsEqual(GzipBytes.signature) {
            let bytes = PeekableBytes(try GzipBytes(part.bytes))
            return try read(Part(name: part.name, file: part.file, bytes: bytes), body)
        }
        guard depth == 0, part.bytes.peek(4).elementsEqual(ZipBytes.signature) else { return try read(part, body) }
        let archive = ZipBytes(part.bytes)
        while let entry = try archive.next() {
            let inner = Part(
                name: "\(part.name)/\(entry.name)", file: part.file, bytes: PeekableBytes(entry.bytes))
            // Folders, and what macOS adds: __MACOSX/._a and .DS_Store.
            guard let file = entry.name.split(separator: "/", omittingEmptySubsequences: false).last, !file.isEmpty,
                !file.hasPrefix(".")
            else { continue }
            guard try forEachPart(of: inner, depth: 1, body) else { return false }
        }
        return true
    }

    private static func read(_ part: Part, _ body: (Part) throws -> Bool) throws -> Bool {
        let head = part.bytes.peek(4)
        guard !head.contains(0), !head.starts(with: [0xFF, 0xFE]), !head.starts(with: [0xFE, 0xFF]) else {
            throw ImportFailure("\(part.name) is not UTF-8, but perhaps UTF-16: convert it.")
        }
        return try body(part)
    }

    private static func open(_ name: String) throws -> FileHandle {
        if name == "-" { return .standardInput }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: name, isDirectory: &isDirectory), !isDirectory.boolValue,
            let handle = FileHandle(forReadingAtPath: name)
        else { throw UnreadableFile(name: name) }
        return handle
    }

    /// Nil for a pipe.
    private static func size(_ handle: FileHandle) -> Int? {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    private static func copy(_ handle: FileHandle) throws -> FileHandle {
        let file = try TemporaryFile.make()
        let bytes = FileBytes(handle)
        while let piece = try bytes.read() { try file.write(contentsOf: piece) }
        return file
    }
}

/// Files that vanish with the process.
enum TemporaryFile {
    static func make() throws -> FileHandle {
        let url = FileManager.default.temporaryDirectory.appending(path: "push-registry-import-\(UUID().uuidString)")
        let descriptor = Glibc.open(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw ImportFailure("No temporary file can be created in \(url.path).") }
        unlink(url.path)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

/// How much of the files was read.
package final class InputProgress: Sendable {
    /// Nil if it is not known.
    let total: Int?
    private let bytes = Atomic(0)

    init(total: Int?) {
        self.total = total
    }

    func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }
    func restart() { bytes.store(0, ordering: .relaxed) }

    /// 0 to 1; nil if it is not known.
    package var share: Double? {
        guard let total, total > 0 else { return nil }
        return min(1, Double(bytes.load(ordering: .relaxed)) / Double(total))
    }
}
