import Foundation
import Testing

/// They run against a scripted registry.
@Suite("The samples of the documentation work")
struct SampleTests {
    private static let androidJSON = "/usr/share/java/com.android.json.jar"

    @Test(.enabled(if: Toolchain.has("node"), "node is not installed"))
    func javaScriptSample_followsTheRules() async throws {
        try await Toolchain.withFolder { folder in
            let sample = try Self.sample("javascript", of: "WebApps")
            let module = sample + "\nexport { PushRegistration, registrationBody };\n"
            try module.write(to: folder.appending(path: "sample.mjs"), atomically: true, encoding: .utf8)
            try Self.copy("harness.mjs", to: folder)
            let run = try await Toolchain.run(["node", "harness.mjs"], in: folder)
            #expect(run.status == 0 && run.output.hasSuffix("8 checks passed\n"), "\(run.output)")
        }
    }

    @Test(
        .enabled(
            if: Toolchain.has("kotlinc") && FileManager.default.fileExists(atPath: androidJSON),
            "kotlin and libandroid-json-java are not installed"))
    func kotlinSample_followsTheRules() async throws {
        try await Toolchain.withFolder { folder in
            try Self.sample("kotlin", of: "AndroidApps").write(
                to: folder.appending(path: "sample.kt"), atomically: true, encoding: .utf8)
            for name in ["harness.kt", "android.kt"] { try Self.copy(name, to: folder) }
            try await Self.runKotlin(["sample.kt", "harness.kt", "android.kt"], "HarnessKt", in: folder, checks: 8)
        }
    }

    @Test(.enabled(if: Toolchain.has("node"), "node is not installed"))
    func serviceWorkers_ofThePages_doWhatThePagesSay() async throws {
        try await Toolchain.withFolder { folder in
            for (page, language) in [("Topics", "js"), ("Messages", "js"), ("Notifications", "javascript")] {
                try Self.blocks(language, of: page).joined(separator: "\n").write(
                    to: folder.appending(path: "\(page.lowercased()).mjs"), atomically: true, encoding: .utf8)
            }
            try Self.copy("pages.mjs", to: folder)
            let run = try await Toolchain.run(["node", "pages.mjs"], in: folder)
            #expect(run.status == 0 && run.output.hasSuffix("3 checks passed\n"), "\(run.output)")
        }
    }

    @Test(
        .enabled(
            if: Toolchain.has("kotlinc") && FileManager.default.fileExists(atPath: androidJSON),
            "kotlin and libandroid-json-java are not installed"))
    func kotlinSamples_ofThePages_work() async throws {
        try await Toolchain.withFolder { folder in
            let imports = ["org.json.*", "java.net.*", "java.time.Instant"].map { "import \($0)\n" }.joined()
            let files = ["Topics", "Messages", "Notifications"].map { ($0, $0.lowercased() + ".kt") }
            for (page, file) in files {
                let sample = try Self.blocks("kotlin", of: page).joined(separator: "\n")
                try (imports + sample).write(
                    to: folder.appending(path: file), atomically: true, encoding: .utf8)
            }
            let addresses = try Self.blocks("kotlin", of: "AndroidApps").filter { $0.contains("onRegistered") }
            try addresses.joined().write(to: folder.appending(path: "addresses.kt"), atomically: true, encoding: .utf8)
            let own = ["pages-harness.kt", "pages-android.kt"]
            for name in own { try Self.copy(name, to: folder) }
            try await Self.runKotlin(
                files.map(\.1) + ["addresses.kt"] + own, "Pages_harnessKt", in: folder, checks: 5)
        }
    }

    private static func runKotlin(
        _ files: [String], _ main: String, in folder: URL, checks: Int
    ) async throws {
        let built = try await Toolchain.run(
            ["kotlinc"] + files + ["-cp", androidJSON, "-include-runtime", "-d", "out.jar"], in: folder)
        try #require(built.status == 0, "\(built.output)")
        let run = try await Toolchain.run(["java", "-cp", "out.jar:\(androidJSON)", main], in: folder)
        #expect(run.status == 0 && run.output.hasSuffix("\(checks) checks passed\n"), "\(run.output)")
    }

    /// The one block of code in this language that defines `PushRegistration`.
    private static func sample(_ language: String, of page: String) throws -> String {
        try #require(try blocks(language, of: page).first { $0.contains("class PushRegistration") })
    }

    private static func blocks(_ language: String, of page: String) throws -> [String] {
        try Toolchain.blocks(language, of: "Sources/Command/push-registry/Documentation.docc/\(page).md")
    }

    private static func copy(_ name: String, to folder: URL) throws {
        try FileManager.default.copyItem(
            at: Toolchain.packageRoot.appending(path: "Tests/PushRegistryClientTests/Samples/\(name)"),
            to: folder.appending(path: name))
    }
}
