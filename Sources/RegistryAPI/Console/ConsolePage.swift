// GET /console/, and the files that it loads
// GET /console

import ByteText
import ConsoleFiles
import Crypto
import HTTPServer
import HTTPTypes
import Synchronization

/// The files of the console's page.
///
/// Files lie below a folder whose name is a digest of all of them, so a browser may keep them for ever, and a page
/// never mixes the files of two versions.
public struct ConsolePage: Sendable {
    static let indexPath = "index.html"

    private let index: CompressedContent
    private let paths: [String]
    private let contents: PackedContents
    /// The name of the folder.
    let digest: String

    /// - Throws: if there is no memory for the compression.
    public init(_ files: [ConsoleFile] = ConsoleFile.all) throws {
        digest = Self.digest(of: files)
        let index = files.first { $0.path == Self.indexPath }?.bytes ?? []
        self.index = try CompressedContent(
            Self.index(index, in: digest), contentType: Self.contentType(Self.indexPath), entityTag: digest)
        paths = files.filter(\.isServed).map(\.path).filter { $0 != Self.indexPath }
        contents = PackedContents(files, entityTag: digest)
    }

    private static func digest(of files: [ConsoleFile]) -> String {
        var hash = SHA256()
        for file in files.sorted(by: { $0.path < $1.path }) {
            hash.update(data: Array("\(file.path)\n\(file.bytes.count)\n".utf8))
            hash.update(data: file.bytes)
        }
        return String(hex: hash.finalize().prefix(8))
    }

    /// The page at `/console/`, whose links lead into the folder.
    private static func index(_ bytes: [UInt8], in folder: String) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        return Array(
            text.replacing(#"src="./"#, with: #"src="./\#(folder)/"#)
                .replacing(#"href="./"#, with: #"href="./\#(folder)/"#).utf8)
    }

    static func contentType(_ path: String) -> String {
        switch path.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "json": "application/json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        default: "application/octet-stream"
        }
    }

    var routes: [Route] {
        let page = Route(.get, RegistryService.consolePattern + "/") { request in
            index.response(to: request, cacheControl: "no-cache")
        }
        // Relative, so that it is right behind a proxy, too.
        let redirect = Route(.get, RegistryService.consolePattern) { _ in
            ServerResponse(.permanentRedirect, fields: [.location: "console/", .cacheControl: "no-cache"])
        }
        let folder = paths.map { path in
            Route(.get, "\(RegistryService.consolePattern)/\(digest)/\(path)") { request in
                try contents[path]?.response(to: request, cacheControl: "public, max-age=31536000, immutable")
                    ?? ServerResponse(.notFound)
            }
        }
        return [page, redirect] + folder
    }
}

/// The files as browsers get them. The first request packs and compresses all of them, so that no start waits for it.
private final class PackedContents: Sendable {
    private let files: [ConsoleFile]
    private let entityTag: String
    private let contents = Mutex<[String: CompressedContent]?>(nil)

    init(_ files: [ConsoleFile], entityTag: String) {
        self.files = files
        self.entityTag = entityTag
    }

    subscript(path: String) -> CompressedContent? {
        get throws {
            try contents.withLock { known in
                if let known { return known[path] }
                var contents: [String: CompressedContent] = [:]
                for file in try ConsoleFile.packed(files) {
                    contents[file.path] = try CompressedContent(
                        file.bytes, contentType: ConsolePage.contentType(file.path), entityTag: entityTag)
                }
                known = contents
                return contents[path]
            }
        }
    }
}
