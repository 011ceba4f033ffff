import Foundation
import Testing

/// No compiler for Apple's platforms runs on Linux. So the sources get stand-ins for Apple's modules, and conditions
/// such as `os(iOS)` become flags. What the stand-ins declare is as in Apple's headers; CI also builds on a Mac.
@Suite("The app's side compiles for all platforms of Apple", .serialized, .enabled(if: Toolchain.has("swiftc")))
struct PlatformTests {
    enum Platform: String, CaseIterable {
        case iOS, macOS, tvOS, watchOS, visionOS

        fileprivate var modules: [String] {
            let common = ["CryptoKit", "Darwin", "Network", "Security", "UserNotifications", "os"]
            return switch self {
            case .macOS: common
            case .watchOS: common + ["UIKit"]
            case .iOS, .tvOS, .visionOS: common + ["BackgroundTasks", "UIKit"]
            }
        }
    }

    private static let targets = ["PushRegistryClient", "PushRegistryNotificationService", "PushRegistryTesting"]

    @Test(arguments: Platform.allCases)
    func sources_compile(_ platform: Platform) async throws {
        try await Toolchain.withFolder { folder in
            let flags = ["-parse-as-library", "-I", ".", "-D", "PLATFORM_\(platform)", "-whole-module-optimization"]
            let modules = Toolchain.packageRoot.appending(path: "Tests/Support/AppleModules/AppleModules.swift").path
            for module in platform.modules {
                // Their enums may get cases, as those of a system.
                let options = ["-enable-library-evolution", "-suppress-warnings", "-D", "MODULE_\(module)"]
                try await emit(module, of: [modules], flags + options, in: folder)
            }
            for target in Self.targets {
                let files = try Self.sources(of: target, in: folder)
                try #require(!files.isEmpty)
                let options = [
                    "-swift-version", "6", "-warnings-as-errors", "-package-name", "push-registry",
                    "-enable-upcoming-feature", "NonisolatedNonsendingByDefault",
                    "-enable-upcoming-feature", "ExistentialAny",
                ]
                try await emit(target, of: files, flags + options, in: folder)
            }
        }
    }

    private func emit(_ module: String, of files: [String], _ flags: [String], in folder: URL) async throws {
        let command = ["swiftc", "-emit-module", "-module-name", module, "-o", "\(module).swiftmodule"] + flags + files
        let run = try await Toolchain.run(command, in: folder)
        try #require(run.status == 0, "\(module): \(run.output)")
    }

    /// Copies of a target's files, with a flag in place of each condition of a system.
    private static func sources(of target: String, in folder: URL) throws -> [String] {
        let root = Toolchain.packageRoot.appending(path: "Sources/Client/\(target)")
        return try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }.map {
            let text = try String(contentsOf: root.appending(path: $0), encoding: .utf8)
            let copy = folder.appending(path: "\(target)-\($0.replacing("/", with: "-"))")
            try text.replacing(#/\bos\((\w+)\)/#) { "PLATFORM_\($0.1)" }
                .write(to: copy, atomically: true, encoding: .utf8)
            return copy.lastPathComponent
        }
    }
}
