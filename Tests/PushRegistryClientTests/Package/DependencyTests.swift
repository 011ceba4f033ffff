import Foundation
import Testing

@Suite("An app that depends on the client alone gets nothing of the server", .enabled(if: Toolchain.isInstalled))
struct DependencyTests {
    /// The whole manifest of an app. `traits: []` turns the server off.
    private static func manifest(_ dependency: String) -> String {
        """
        // swift-tools-version: 6.2
        import PackageDescription
        let package = Package(name: "App", platforms: [.macOS(.v13)], dependencies: [\(dependency)], targets: [\
        .executableTarget(name: "App", dependencies: [.product(name: "PushRegistryClient", package: "push-registry")])])
        """
    }

    /// From a repository, as apps get it.
    @Test func app_buildsWithThreeLines_andResolvesNoOtherPackage() async throws {
        try await Toolchain.withFolder { folder in
            let repository = try await Self.repository(in: folder)
            let app = try Self.app(in: folder, #".package(url: "\#(repository)", from: "1.0.0", traits: [])"#)
            let resolved = try await Toolchain.run(["swift", "package", "resolve"], in: app)
            #expect(resolved.status == 0, "\(resolved.output)")
            let pins = try String(contentsOf: app.appending(path: "Package.resolved"), encoding: .utf8)
            #expect(pins.components(separatedBy: "\"identity\"").count == 2, "\(pins)")
            let checkouts = app.appending(path: ".build/checkouts").path
            #expect(try FileManager.default.contentsOfDirectory(atPath: checkouts) == ["push-registry"])
            let built = try await Toolchain.run(["swift", "build"], in: app)
            #expect(built.status == 0, "\(built.output)")
            for target in ["PushRegistry ", "HTTPServer", "CPostgres", "Logging", "NIO"] {
                #expect(!built.output.contains("Compiling \(target)"))
            }
        }
    }

    /// From a folder beside it.
    @Test func app_hasOneDependency_ifItUsesAFolder() async throws {
        try await Toolchain.withFolder { folder in
            let root = folder.appending(path: "push-registry")
            try FileManager.default.createSymbolicLink(at: root, withDestinationURL: Toolchain.packageRoot)
            let app = try Self.app(in: folder, #".package(path: "\#(root.path)", traits: [])"#)
            let shown = try await Toolchain.run(
                ["swift", "package", "show-dependencies", "--format", "flatlist"], in: app)
            #expect(shown.output.split(separator: "\n").map(String.init) == ["push-registry"], "\(shown.output)")
        }
    }

    private static func app(in folder: URL, _ dependency: String) throws -> URL {
        let app = folder.appending(path: "App")
        try FileManager.default.createDirectory(
            at: app.appending(path: "Sources/App"), withIntermediateDirectories: true)
        try manifest(dependency).write(to: app.appending(path: "Package.swift"), atomically: true, encoding: .utf8)
        let source = """
            import Foundation
            import PushRegistryClient

            let url = URL(fileURLWithPath: "/")
            let push = PushRegistryClient(url: url, app: "com.example.mail", key: nil, storage: .files)
            print(await push.settled())
            """
        try source.write(to: app.appending(path: "Sources/App/main.swift"), atomically: true, encoding: .utf8)
        try samples().write(to: app.appending(path: "Sources/App/Samples.swift"), atomically: true, encoding: .utf8)
        return app
    }

    /// The lines of the README and of the pages, as an app has them.
    private static func samples() throws -> String {
        func sample(_ page: String) throws -> String {
            try #require(try Toolchain.blocks("swift", of: page).first)
        }
        func page(_ name: String) throws -> String {
            try sample("Sources/Command/push-registry/Documentation.docc/\(name).md")
        }
        let readme = try sample("README.md").replacing("import PushRegistryClient\n", with: "")
        return """
            import Foundation
            import PushRegistryClient

            struct Auth: Sendable {
                func accessToken() async throws -> String { "jwt" }
            }
            func show(_ state: PushRegistryClient.State) {}
            func readme(_ auth: Auth, _ token: Data) async throws {
            \(readme)
            }
            func topics(_ push: PushRegistryClient) async throws -> Int {
            \(try page("Topics"))
            return rows.count
            }
            \(try page("Messages"))
            \(try page("Notifications"))
            """
    }

    /// A repository with the files of this one, and one tag.
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
            ["init", "--quiet"], ["add", "--all"], identity + ["commit", "--quiet", "-m", "test"], ["tag", "1.0.0"],
        ] {
            let run = try await Toolchain.run(["git"] + arguments, in: repository)
            try #require(run.status == 0, "\(run.output)")
        }
        return "file://\(repository.path)"
    }
}
