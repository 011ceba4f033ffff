import RegistryTestSupport
import Testing

extension ConsoleTests {
    /// What a browser loads, as the service sends it.
    @Suite("Size")
    struct SizeTests {
        private static let kibibyte = 1_024

        /// The page, its script with all texts and the coasts, its style sheet and its icon.
        @Test func everything_isSmall() async throws {
            let page = try await Self.get("").text
            let paths = page.matches(of: /(?:src|href)="\.\/([^"]+)"/).map { String($0.1) }
            #expect(paths.map { $0.drop { $0 != "/" } }.sorted() == ["/app.js", "/icon.svg", "/style.css"])
            let (plain, compressed) = try await Self.size(of: [""] + paths)
            #expect(plain <= 200 * Self.kibibyte && compressed <= 70 * Self.kibibyte, "\(plain) \(compressed)")
        }

        /// Nothing else is served: neither modules that the script contains, nor their sources.
        @Test func modules_areNotServed() async throws {
            let page = try await Self.get("").text
            let folder = try #require(page.firstMatch(of: /src="\.\/([0-9a-f]+)\//)?.1)
            for path in ["core/dom.js", "text/frame.js", "style/page.css", "index.html"] {
                #expect(try await Self.get("\(folder)/\(path)").status == 404, "\(path)")
            }
        }

        private static func size(of paths: [String]) async throws -> (plain: Int, compressed: Int) {
            var (plain, compressed) = (0, 0)
            for address in paths {
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
