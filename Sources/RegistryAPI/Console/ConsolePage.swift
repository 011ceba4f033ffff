// GET /console/, and the files that it loads
// GET /console

import ByteText
import ConsoleFiles
import Crypto
import HTTPServer
import HTTPTypes

/// The files of the console's page.
///
/// Files lie below a folder whose name is a digest of all of them, so a browser may keep them for ever, and a page
/// never mixes the files of two versions.
public struct ConsolePage: Sendable {
    static let indexPath = "index.html"

    private let index: CompressedContent
    private let paths: [String]
    /// By path. No event loop packs and compresses them, and no start waits for it.
    private let contents: Task<[String: CompressedContent], any Error>
    /// The name of the folder.
    let digest: String

    /// - Throws: if there is no memory for the compression.
    public init(_ files: [ConsoleFile] = ConsoleFile.all) throws {
        let digest = Self.digest(of: files)
        self.digest = digest
        let index = files.first { $0.path == Self.indexPath }?.bytes ?? []
        self.index = try CompressedContent(
            Self.index(index, in: digest), contentType: Self.contentType(Self.indexPath), entityTag: digest)
        paths = files.filter(\.isServed).map(\.path).filter { $0 != Self.indexPath }
        contents = Task.detached {
            var contents: [String: CompressedContent] = [:]
            for file in try ConsoleFile.packed(files) {
                contents[file.path] = try CompressedContent(
                    file.bytes, contentType: Self.contentType(file.path), entityTag: digest)
            }
            return contents
        }
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
                let content = try await contents.value[path]
                return content?.response(to: request, cacheControl: "public, max-age=31536000, immutable")
                    ?? ServerResponse(.notFound)
            }
        }
        return [page, redirect] + folder
    }
}
