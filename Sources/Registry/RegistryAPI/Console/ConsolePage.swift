// GET /console/, and the files that it loads
// GET /console

import Basics
import Crypto
import HTTPApplication
import HTTPTypes

/// The files of the console's page.
///
/// Files lie below a folder whose name is a digest of all of them as they are served, so a browser may keep them for
/// ever, and a page never mixes the files of two versions.
public struct ConsolePage: Sendable {
    static let indexPath = "index.html"

    private struct Served {
        /// The name of the folder.
        let digest: String
        let index: CompressedContent
        /// By path.
        let contents: [String: CompressedContent]
    }

    private let paths: [String]
    /// No event loop compresses them, and no start waits for it.
    private let served: Task<Served, any Error>

    public init(_ files: [EmbeddedFile] = EmbeddedFile.console) {
        paths = files.map(\.path).filter { $0 != Self.indexPath }
        served = Task.detached { try Self.served(files) }
    }

    var digest: String { get async throws { try await served.value.digest } }

    /// - Throws: if there is no memory for the compression.
    private static func served(_ files: [EmbeddedFile]) throws -> Served {
        let digest = digest(of: files)
        let index = files.first { $0.path == indexPath }?.bytes ?? []
        var contents: [String: CompressedContent] = [:]
        for file in files where file.path != indexPath {
            contents[file.path] = try CompressedContent(
                file.bytes, contentType: contentType(file.path), entityTag: digest)
        }
        return Served(
            digest: digest,
            index: try CompressedContent(
                self.index(index, in: digest), contentType: contentType(indexPath), entityTag: digest),
            contents: contents)
    }

    private static func digest(of files: [EmbeddedFile]) -> String {
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
            try await served.value.index.response(to: request, cacheControl: "no-cache")
        }
        // Relative, so that it is right behind a proxy, too.
        let redirect = Route(.get, RegistryService.consolePattern) { _ in
            ServerResponse(.permanentRedirect, fields: [.location: "console/", .cacheControl: "no-cache"])
        }
        let folder = paths.map { path in
            Route(.get, "\(RegistryService.consolePattern)/{folder}/\(path)") { request in
                let served = try await served.value
                guard request.parameters["folder"] == served.digest, let content = served.contents[path] else {
                    return ServerResponse(.notFound)
                }
                return content.response(to: request, cacheControl: "public, max-age=31536000, immutable")
            }
        }
        return [page, redirect] + folder
    }
}
