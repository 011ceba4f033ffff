import Foundation
import HTTPWire
import RegistryTestSupport
import Testing

@testable import RegistryAPI

/// Finds the codes in the sources, in the description and on the error page.
@Suite("Every code of an error is documented")
struct ErrorCodeTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private let document: OpenAPI
    private let page: String

    init() throws {
        document = try OpenAPI(parsing: EmbeddedFile.openAPI.bytes)
        let file = "Sources/Command/push-registry/Documentation.docc/Errors.md"
        page = try String(contentsOf: Self.folder.appending(path: file), encoding: .utf8)
    }

    /// `status code` of every row of the page's table.
    private var rows: Set<String> {
        Set(page.matches(of: /\| (\d{3}) \| `([a-z-]+)` \|/).map { "\($0.1) \($0.2)" })
    }

    /// `status code` of every problem document that a response shows.
    private var shown: Set<String> {
        var shown: Set<String> = []
        for operation in document.operations {
            for (status, response) in operation.json["responses"].object {
                let media = document.resolved(response)["content"]["application/problem+json"]
                for (name, example) in media["examples"].object {
                    let problem = document.resolved(example)["value"]
                    #expect(problem["code"].string == name && problem["type"].string == "/errors#\(name)")
                    if status != "default" { #expect(problem["status"].integer == Int64(status)) }
                    shown.insert("\(problem["status"].integer ?? 0) \(name)")
                }
            }
        }
        return shown
    }

    @Test func table_matchesTheDescription() {
        #expect(!rows.isEmpty)
        #expect(rows == shown)
    }

    /// `GET /errors` has the texts of the documentation.
    @Test func adviceOfAnError_isTheSame_onBothPages() {
        let rows = page.matches(of: /\| \d{3} \| `([a-z-]+)` \| (.*) \|/)
        for row in rows {
            let advice = row.2.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }
            let example = document.root["components"]["examples"][String(row.1)]
            #expect(example["summary"].string == String(advice), "\(row.1)")
        }
    }

    /// The `type` of a problem document links to the entry.
    @Test func pageOfErrors_hasAnEntry_forEveryCode() {
        let page = String(decoding: ErrorPage().text, as: UTF8.self)
        let codes = rows.map { String($0.dropFirst(4)) } + WireError.Reason.allCases.map(\.rawValue)
        for code in Set(codes) { #expect(page.ranges(of: "<section id=\"\(code)\">").count == 1, "\(code)") }
        #expect(page.contains("<code>Retry-After</code>") && !page.contains("`"))
    }

    /// Kebab-case literals at places in the sources of a target where a code is expected.
    private func codes(in target: String) throws -> Set<String> {
        let folder = Self.folder.appending(path: "Sources/\(target)")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        let sources = try (files ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
        let made = sources.flatMap { literals(after: /(?:code|rawValue): ([^\n]*)/, in: $0) }
        // Arguments also contain names of members.
        let named = sources.flatMap { literals(after: /(?:refuse|query)\(([^\n]*)/, in: $0) }.filter {
            $0.contains("-")
        }
        return Set(made + named)
    }

    private func literals(after place: Regex<(Substring, Substring)>, in source: String) -> [String] {
        source.matches(of: place).flatMap { line in
            line.1.matches(of: /"([a-z]+(?:-[a-z0-9]+)*)"/).map { String($0.1) }
        }
    }

    @Test func codesOfTheSources_areOnThePage_andInTheDescription() throws {
        let examples = ["Fault", "AudienceNote"].flatMap { name in
            document.root["components"]["schemas"][name]["properties"]["code"]["examples"].array
        }
        let described = Set(examples.compactMap(\.string)).union(rows.map { String($0.dropFirst(4)) })
        for target in ["Registry/RegistryAPI", "Registry/PushRegistry", "Engine/StrictJSON", "Engine/HTTPApplication"] {
            let codes = try codes(in: target)
            #expect(!codes.isEmpty, "\(target)")
            #expect(codes.filter { !page.contains("`\($0)`") } == [], "\(target): not on the page")
            #expect(codes.subtracting(described) == [], "\(target): not described")
        }
    }
}
