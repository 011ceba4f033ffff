import Foundation
import Testing

/// The page "For app developers" has them. They run against a scripted registry.
@Suite("The samples of the documentation work")
struct SampleTests {
    private static let androidJSON = "/usr/share/java/com.android.json.jar"

    @Test(.enabled(if: Toolchain.has("node"), "node is not installed"))
    func javaScriptSample_followsTheRules() async throws {
        try await withFolder { folder in
            let sample = try Self.sample("javascript") + "\nexport { PushRegistration, registrationBody };\n"
            try sample.write(to: folder.appending(path: "sample.mjs"), atomically: true, encoding: .utf8)
            try Self.copy("harness.mjs", to: folder)
            let run = try await Toolchain.run(["node", "harness.mjs"], in: folder)
            #expect(run.status == 0 && run.output.hasSuffix("9 checks passed\n"), "\(run.output)")
        }
    }

    @Test(
        .enabled(
            if: Toolchain.has("kotlinc") && FileManager.default.fileExists(atPath: androidJSON),
            "kotlin and libandroid-json-java are not installed"))
    func kotlinSample_followsTheRules() async throws {
        try await withFolder { folder in
            try Self.sample("kotlin").write(
                to: folder.appending(path: "sample.kt"), atomically: true, encoding: .utf8)
            for name in ["harness.kt", "android.kt"] { try Self.copy(name, to: folder) }
            let built = try await Toolchain.run(
                ["kotlinc", "sample.kt", "harness.kt", "android.kt", "-cp", Self.androidJSON, "-include-runtime"]
                    + ["-d", "out.jar"], in: folder)
            try #require(built.status == 0, "\(built.output)")
            let run = try await Toolchain.run(
                ["java", "-cp", "out.jar:\(Self.androidJSON)", "HarnessKt"], in: folder)
            #expect(run.status == 0 && run.output.hasSuffix("8 checks passed\n"), "\(run.output)")
        }
    }

    /// The one block of code in this language that defines `PushRegistration`.
    private static func sample(_ language: String) throws -> String {
        let page = Toolchain.packageRoot.appending(path: "Sources/push-registry/Documentation.docc/ForAppDevelopers.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let blocks = text.components(separatedBy: "```\(language)\n").dropFirst().map {
            $0.components(separatedBy: "```\n")[0]
        }
        return try #require(blocks.first { $0.contains("class PushRegistration") })
    }

    private static func copy(_ name: String, to folder: URL) throws {
        try FileManager.default.copyItem(
            at: Toolchain.packageRoot.appending(path: "Tests/PushRegistryClientTests/Samples/\(name)"),
            to: folder.appending(path: name))
    }

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-sample-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }
}
