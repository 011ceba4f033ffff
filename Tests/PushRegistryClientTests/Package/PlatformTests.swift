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
            case .tvOS, .visionOS: common + ["BackgroundTasks", "UIKit"]
            case .iOS: common + ["ActivityKit", "BackgroundTasks", "UIKit", "SwiftUI"]
            }
        }
    }

    private static let targets = ["PushRegistryClient", "PushRegistryNotificationService", "PushRegistryTesting"]
    private static let root = Toolchain.packageRoot.appending(path: "Sources/Client")

    /// On iOS, also the samples of the pages.
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
                try await emit(target, of: files, flags + Self.strict, in: folder)
            }
            guard platform == .iOS else { return }
            let samples = try Self.samples(in: folder)
            try #require(samples.count == 5)
            try await emit("Mail", of: samples, flags + ["-swift-version", "6", "-warnings-as-errors"], in: folder)
        }
    }

    /// As the page says, for the module and its actor have one name. swiftc reads the interface that it has written.
    @Test func moduleInterface_isReadable_withTheFlagOfThePage() async throws {
        let page = try String(
            contentsOf: Self.root.appending(path: "PushRegistryClient/PushRegistryClient.docc/PushRegistryClient.md"),
            encoding: .utf8)
        let flag = "-enable-module-selectors-in-module-interface"
        try #require(page.contains("-Xfrontend \(flag)"))
        try await Toolchain.withFolder { folder in
            let files = try Self.paths(of: "PushRegistryClient").map {
                Self.root.appending(path: "PushRegistryClient/\($0)").path
            }
            // Foundation on Linux has no interface, which is a warning.
            let strict = Self.strict.filter { $0 != "-warnings-as-errors" }
            let options = [
                "-suppress-warnings", "-parse-as-library", "-enable-library-evolution",
                "-emit-module-interface-path", "PushRegistryClient.swiftinterface", "-Xfrontend", flag,
            ]
            try await emit("PushRegistryClient", of: files, strict + options, in: folder)
        }
    }

    private static let strict = [
        "-swift-version", "6", "-warnings-as-errors", "-package-name", "push-registry",
        "-enable-upcoming-feature", "NonisolatedNonsendingByDefault", "-enable-upcoming-feature", "ExistentialAny",
    ]

    private func emit(_ module: String, of files: [String], _ flags: [String], in folder: URL) async throws {
        let command = ["swiftc", "-emit-module", "-module-name", module, "-o", "\(module).swiftmodule"] + flags + files
        let run = try await Toolchain.run(command, in: folder)
        try #require(run.status == 0, "\(module): \(run.output)")
    }

    /// Copies of a target's files, with a flag in place of each condition of a system.
    private static func sources(of target: String, in folder: URL) throws -> [String] {
        try paths(of: target).map {
            let text = try String(contentsOf: root.appending(path: "\(target)/\($0)"), encoding: .utf8)
            let copy = folder.appending(path: "\(target)-\($0.replacing("/", with: "-"))")
            try text.replacing(#/\bos\((\w+)\)/#) { "PLATFORM_\($0.1)" }
                .write(to: copy, atomically: true, encoding: .utf8)
            return copy.lastPathComponent
        }
    }

    private static func paths(of target: String) throws -> [String] {
        let folder = root.appending(path: target).path
        return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
    }

    /// The samples that need a module of Apple, each as a file, and what they use beside it.
    private static func samples(in folder: URL) throws -> [String] {
        let blocks = try Toolchain.clientPages.flatMap { try Toolchain.blocks("swift", of: $0) }
        let modules = #/import (ActivityKit|UIKit|SwiftUI|UserNotifications)/#
        let samples = blocks.filter { $0.contains(modules) } + ["import SwiftUI\nstruct MailView: View {}\n"]
        return try samples.enumerated().map { number, sample in
            let name = "sample\(number).swift"
            try sample.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
            return name
        }
    }
}
