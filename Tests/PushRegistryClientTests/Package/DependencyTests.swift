import Foundation
import Testing

@Suite("An app that depends on the client alone gets nothing of the server", .enabled(if: Toolchain.isInstalled))
struct DependencyTests {
    /// What the page tells an app to write in its manifest.
    private static let package = #".package(url: "https://…/push-registry", branch: "main")"#
    private static let product = #".product(name: "PushRegistryClient", package: "push-registry")"#

    /// The whole manifest of an app.
    private static func manifest(_ dependency: String) -> String {
        """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(name: "App", platforms: [.macOS(.v13)], dependencies: [\(dependency)], targets: [
            .executableTarget(name: "App", dependencies: [\(product)]),
            .testTarget(name: "AppTests", dependencies: [
                \(product), .product(name: "PushRegistryTesting", package: "push-registry")])])
        """
    }

    /// From a repository, as apps get it, with the samples of the pages.
    @Test func app_resolvesNoOtherPackage_andTheSamplesWork() async throws {
        let manifests = try Self.blocks(of: Toolchain.clientPages).filter(Self.isManifest)
        #expect(manifests.count == 3 && manifests.allSatisfy { $0.contains(Self.package) || $0.contains(Self.product) })
        try await Toolchain.withFolder { folder in
            let repository = try await Self.repository(in: folder)
            let dependency = Self.package.replacing("https://…/push-registry", with: repository)
            let app = try Self.app(in: folder, dependency)
            let resolved = try await Toolchain.run(["swift", "package", "resolve"], in: app)
            #expect(resolved.status == 0, "\(resolved.output)")
            let pins = try String(contentsOf: app.appending(path: "Package.resolved"), encoding: .utf8)
            #expect(pins.components(separatedBy: "\"identity\"").count == 2, "\(pins)")
            let checkouts = app.appending(path: ".build/checkouts").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: checkouts) == ["push-registry"])
            let tested = try await Toolchain.run(["swift", "test"], in: app)
            #expect(tested.status == 0 && tested.output.contains("Test run with 2 tests"), "\(tested.output)")
            for target in ["PushRegistry ", "HTTPServer", "CPostgres", "Logging", "NIO"] {
                #expect(!tested.output.contains("Compiling \(target)"))
            }
        }
    }

    /// From a folder beside it.
    @Test func app_hasOneDependency_ifItUsesAFolder() async throws {
        try await Toolchain.withFolder { folder in
            let root = folder.appending(path: "push-registry")
            try FileManager.default.createSymbolicLink(at: root, withDestinationURL: Toolchain.packageRoot)
            let app = try Self.app(in: folder, #".package(path: "\#(root.path)")"#)
            let shown = try await Toolchain.run(
                ["swift", "package", "show-dependencies", "--format", "flatlist"], in: app)
            #expect(shown.output.split(separator: "\n").map(String.init) == ["push-registry"], "\(shown.output)")
        }
    }

    /// In the target that all others of the server need. Else an engineer would read thousands of lines about modules
    /// that are missing.
    @Test func serverWithoutItsTrait_namesTheTrait() async throws {
        try await Toolchain.withFolder { folder in
            _ = try await Self.repository(in: folder)
            let built = try await Toolchain.run(
                ["swift", "build", "--target", "Basics"], in: folder.appending(path: "push-registry"))
            #expect(built.status != 0)
            #expect(built.output.contains("error: The server needs the trait Server: swift build --traits Server"))
        }
    }

    private static func app(in folder: URL, _ dependency: String) throws -> URL {
        let app = folder.appending(path: "App")
        let source = """
            import Foundation
            import PushRegistryClient

            let url = URL(fileURLWithPath: "/")
            let push = PushRegistryClient(url: url, app: "com.example.mail", key: nil, storage: .files)
            print(await push.settled())
            """
        var files = [
            "Package.swift": manifest(dependency), "Sources/App/main.swift": source,
            "Sources/App/Samples.swift": try samples(),
        ]
        for (number, test) in try blocks(of: Toolchain.clientPages).filter(isTest).enumerated() {
            files["Tests/AppTests/Sample\(number).swift"] = test
        }
        for (path, text) in files {
            let file = app.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return app
    }

    private static func blocks(of pages: [String]) throws -> [String] {
        try pages.flatMap { try Toolchain.blocks("swift", of: $0) }
    }

    private static func isManifest(_ block: String) -> Bool {
        block.contains(".package(") || block.contains(".product(")
    }

    private static func isTest(_ block: String) -> Bool { block.contains("@Test") }

    /// The lines of the README and of the pages, as an app has them. `PlatformTests` compiles those for iOS alone.
    private static func samples() throws -> String {
        let pages = ["Topics", "Messages", "Notifications"].map {
            "Sources/Command/push-registry/Documentation.docc/\($0).md"
        }
        var declarations: [String] = []
        var bodies: [String] = []
        for block in try blocks(of: ["README.md"] + Toolchain.clientPages + pages) where !isManifest(block) {
            let text = block.replacing("import PushRegistryClient\n", with: "")
            if text.contains(#/^(import|///) /#.anchorsMatchLineEndings()) {
                if !text.contains("import ") { declarations.append(text) }
            } else {
                bodies.append(text)
            }
        }
        let functions = bodies.enumerated().map { number, body in
            """
            func sample\(number)(
                _ push: PushRegistryClient, _ url: URL, _ auth: Auth, _ token: Data, _ text: String, _ receipt: String,
                _ position: inout PushRegistryClient.NotificationPosition?
            ) async throws {
            \(body)
            }
            """
        }
        let scaffold = """
            import Foundation
            import PushRegistryClient

            struct Auth: Sendable {
                func accessToken() async throws -> String { "jwt" }
                func signOut() async {}
            }
            func show(_ value: some Sendable) {}
            """
        return ([scaffold] + declarations + functions).joined(separator: "\n")
    }

    /// A repository with the files of this one.
    ///
    /// - Returns: its URL.
    private static func repository(in folder: URL) async throws -> String {
        let repository = folder.appending(path: "push-registry")
        try FileManager.default.createDirectory(at: repository, withIntermediateDirectories: true)
        for name in ["Package.swift", "Sources", "Migrations", "Tests"] {
            try FileManager.default.copyItem(
                at: Toolchain.packageRoot.appending(path: name), to: repository.appending(path: name))
        }
        let identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
        for arguments in [
            ["init", "--quiet", "--initial-branch", "main"], ["add", "--all"],
            identity + ["commit", "--quiet", "-m", "test"],
        ] {
            let run = try await Toolchain.run(["git"] + arguments, in: repository)
            try #require(run.status == 0, "\(run.output)")
        }
        return "file://\(repository.path)"
    }
}
