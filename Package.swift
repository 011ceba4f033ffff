// swift-tools-version: 6.2
import PackageDescription

/// Language mode 6, every warning an error; a nonisolated async function runs on its caller's executor, so that a
/// request never leaves the event loop that accepted it.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Only the server needs other packages, and no trait is on by default: an app that names this package by its URL alone
/// resolves none of them. SwiftPM and Xcode resolve what a default trait needs for every app, and its minimal versions
/// exclude older ones from the app's graph. So who builds the server passes `--traits Server`, as `make` does.
let server: TargetDependencyCondition? = .when(traits: ["Server"])

/// A product of another package, for the server.
func product(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: server)
}

let argumentParser = product("ArgumentParser", "swift-argument-parser")
let collections = product("DequeModule", "swift-collections")
let heap = product("HeapModule", "swift-collections")
let crypto = product("Crypto", "swift-crypto")
let cryptoExtras = product("CryptoExtras", "swift-crypto")
let httpTypes = product("HTTPTypes", "swift-http-types")
let logging = product("Logging", "swift-log")
let metrics = product("Metrics", "swift-metrics")
let coreMetrics = product("CoreMetrics", "swift-metrics")
let serviceLifecycle = product("ServiceLifecycle", "swift-service-lifecycle")
let unixSignals = product("UnixSignals", "swift-service-lifecycle")
let subprocess = product("Subprocess", "swift-subprocess")

/// A target of the product, in `Sources/<folder>/<name>`.
func module(_ folder: String, _ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", swiftSettings: strict)
}

/// The tests of one target, in `Tests/<name>`.
func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let package = Package(
    name: "push-registry",
    // The platforms of the client libraries. The server builds on Linux only.
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "PushRegistryClient", targets: ["PushRegistryClient"]),
        .library(name: "PushRegistryNotificationService", targets: ["PushRegistryNotificationService"]),
        .library(name: "PushRegistryTesting", targets: ["PushRegistryTesting"]),
        .executable(name: "push-registry", targets: ["push-registry"]),
        .executable(name: "push-registry-bench", targets: ["push-registry-bench"]),
    ],
    traits: [.trait(name: "Server", description: "The service and its command, with the packages that they need.")],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // C libraries. libcurl is loaded at run time, and only its shim is compiled.
        .systemLibrary(name: "CCurl", path: "Sources/C/CCurl"),
        .systemLibrary(name: "CLinux", path: "Sources/C/CLinux"),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/C/COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CPostgres", path: "Sources/C/CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZlib", path: "Sources/C/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // A request's way, left to right.
        module("Engine", "Basics", []),
        module("Engine", "EventLoop", ["Basics", "CLinux", collections, heap]),
        module("Engine", "HTTPWire", ["Basics", httpTypes]),
        module("Engine", "HTTPApplication", ["Basics", "EventLoop", "HTTPWire", "CZlib", httpTypes]),
        module(
            "Engine", "HTTPServer",
            [
                "Basics", "CLinux", "EventLoop", "HTTPApplication", "HTTPWire", "COpenSSL", collections, httpTypes,
                logging,
            ]),
        module("Engine", "StrictJSON", ["Basics"]),
        module(
            "Engine", "Telemetry",
            ["Basics", "HTTPApplication", "HTTPWire", "StrictJSON", coreMetrics, httpTypes, logging]),
        .target(
            name: "RegistryAPI",
            dependencies: [
                "Basics", "CEmbeddedFiles", "EventLoop", "PushRegistry", "HTTPApplication", "HTTPWire", "Receipts",
                "StrictJSON", crypto, cryptoExtras, httpTypes, logging, metrics,
            ], path: "Sources/Registry/RegistryAPI", exclude: ["openapi.json"], swiftSettings: strict),
        // C embeds files, because the compiler needs minutes for array literals of Swift of their size.
        .target(name: "CEmbeddedFiles", path: "Sources/C/CEmbeddedFiles"),
        module("Registry", "PushRegistry", ["Basics"]),
        module("Registry", "Receipts", ["Basics", "COpenSSL", "PushRegistry", crypto]),
        module("Engine", "HTTPFetch", ["Basics", "CCurl"]),
        module(
            "Registry", "RegistryStore",
            ["Basics", "EventLoop", "PushRegistry", "PostgresClient", "Receipts", collections, crypto, metrics]),
        module(
            "Registry", "RegistryJobs",
            ["Basics", "EventLoop", "PushRegistry", "PostgresClient", "RegistryStore", crypto]),
        module(
            "Engine", "PostgresClient",
            ["Basics", "EventLoop", "COpenSSL", "CPostgres", collections, logging, metrics]),
        .target(
            name: "Migrations", path: "Migrations",
            // One line a file, and one in Manifest.swift.
            resources: [
                .embedInCode("0001_create_app.sql"),
                .embedInCode("0002_create_installation.sql"),
                .embedInCode("0003_create_history.sql"),
                .embedInCode("0004_create_rollup.sql"),
                .embedInCode("0005_create_cleanup.sql"),
                .embedInCode("0006_create_api_key_use.sql"),
                .embedInCode("0007_create_topics.sql"),
                .embedInCode("0008_create_messages.sql"),
                .embedInCode("0009_create_notifications.sql"),
                .embedInCode("0010_create_console.sql"),
                .embedInCode("0011_create_partitions.sql"),
                .embedInCode("0012_create_typed_token.sql"),
                .embedInCode("0013_create_feedback_breaker.sql"),
                .embedInCode("0014_add_readdressed.sql"),
                .embedInCode("0015_create_directory_change.sql"),
                .embedInCode("0016_add_app_deletion.sql"),
                .embedInCode("0017_create_rollup_history.sql"),
                .embedInCode("0018_add_console_person.sql"),
                .embedInCode("0019_create_audit_entry.sql"),
            ],
            swiftSettings: strict),

        // The command.
        module("Engine", "EmbeddedPostgres", ["Basics", subprocess, logging]),
        module(
            "Command", "Importing",
            ["Basics", "CZlib", "PushRegistry", "RegistryJobs", "StrictJSON", crypto]),
        .executableTarget(
            name: "push-registry",
            dependencies: [
                "Basics", "EventLoop", "FleetGenerator", "HTTPApplication", "HTTPServer", "HTTPWire", "Importing",
                "PostgresClient", "PushRegistry", "Receipts", "RegistryAPI", "RegistryJobs", "RegistryStore",
                "EmbeddedPostgres", "HTTPFetch", "Migrations", "StrictJSON", "Telemetry", argumentParser, coreMetrics,
                logging, serviceLifecycle, unixSignals,
            ], path: "Sources/Command/push-registry", swiftSettings: strict),

        // The app's side. It depends on Foundation alone.
        .target(
            name: "PushRegistryClient", path: "Sources/Client/PushRegistryClient",
            resources: [.copy("PrivacyInfo.xcprivacy")], swiftSettings: strict),
        module("Client", "PushRegistryNotificationService", ["PushRegistryClient"]),
        module("Client", "PushRegistryTesting", ["PushRegistryClient"]),

        // Fleets, for tests, benchmarks and the demo.
        module(
            "Bench", "FleetGenerator",
            ["Basics", "PushRegistry", "PostgresClient", "RegistryJobs", "RegistryStore", "StrictJSON", crypto]),

        // Load and benchmarks; never part of the product.
        .executableTarget(
            name: "push-registry-bench",
            dependencies: [
                "Basics", "FleetGenerator", "EmbeddedPostgres", "EventLoop", "Migrations", "PostgresClient",
                "PushRegistry", "Receipts", "RegistryJobs", "RegistryStore", "RegistryTestSupport", "HTTPApplication",
                "HTTPServer", "StrictJSON", "COpenSSL", argumentParser, crypto, httpTypes, logging, subprocess,
            ], path: "Sources/Bench/push-registry-bench",
            // A package of its own, which the benchmark writes out and builds when it is asked to; and wrk's script.
            resources: [
                .embedInCode("Engine/Hummingbird/Package.swift.txt"), .embedInCode("Engine/Hummingbird/main.swift.txt"),
                .embedInCode("Load/wrk.lua"),
            ],
            swiftSettings: strict),

        // What tests that need a running service share; never part of the product.
        .target(
            name: "RegistryTestSupport",
            dependencies: [
                "Basics", "EmbeddedPostgres", "EventLoop", "HTTPApplication", "HTTPServer", "HTTPWire", "Migrations",
                "PostgresClient", httpTypes, logging, subprocess,
            ], path: "Tests/Support/RegistryTestSupport", swiftSettings: strict),

        // What the service and the in-memory registry promise to a client, for both.
        .target(
            name: "ClientConformance", dependencies: ["PushRegistryClient", "PushRegistryTesting"],
            path: "Tests/Support/ClientConformance", swiftSettings: strict),

        // Tests.
        tests("BasicsTests", ["Basics"]),
        tests("EventLoopTests", ["EventLoop"]),
        tests("HTTPWireTests", ["Basics", "HTTPWire"]),
        tests(
            "HTTPServerTests",
            [
                "Basics", "HTTPApplication", "HTTPServer", "HTTPWire", "EventLoop", "COpenSSL", "CZlib", httpTypes,
                logging,
            ]),
        tests("HTTPFetchTests", ["Basics", "HTTPApplication", "HTTPFetch", "HTTPServer", "RegistryTestSupport"]),
        tests("StrictJSONTests", ["Basics", "StrictJSON"]),
        tests(
            "TelemetryTests",
            ["Basics", "Telemetry", "HTTPApplication", "HTTPWire", coreMetrics, httpTypes, logging]),
        tests("PushRegistryTests", ["Basics", "PushRegistry"]),
        tests("ReceiptsTests", ["Basics", "PushRegistry", "Receipts"]),
        tests(
            "RegistryAPITests",
            [
                "Basics", "RegistryAPI", "RegistryJobs", "RegistryStore", "RegistryTestSupport", "EventLoop",
                "HTTPApplication", "HTTPServer", "PostgresClient", "PushRegistry", "Receipts",
                "StrictJSON", crypto,
                cryptoExtras, httpTypes, logging,
            ]),
        tests(
            "CommandTests",
            [
                "push-registry", "HTTPServer", "HTTPWire", "PushRegistry", "RegistryAPI", "RegistryStore", "Telemetry",
                argumentParser,
                logging,
            ]),
        tests("ImportingTests", ["Importing", "PushRegistry"]),
        tests("PostgresClientTests", ["COpenSSL", "PostgresClient", "EmbeddedPostgres", "RegistryTestSupport"]),
        tests("EmbeddedPostgresTests", ["EmbeddedPostgres", "RegistryTestSupport"]),
        tests("MigrationsTests", ["Migrations"]),
        tests(
            "RegistryStoreTests",
            [
                "Basics", "RegistryJobs", "RegistryStore", "PushRegistry", "PostgresClient", "EventLoop",
                "EmbeddedPostgres", "Receipts", "RegistryTestSupport", crypto, logging,
            ]),
        // Without the server, so that they build fast.
        .testTarget(
            name: "PushRegistryClientTests",
            dependencies: [
                "PushRegistryClient", "PushRegistryNotificationService", "PushRegistryTesting", "ClientConformance",
            ],
            exclude: [
                "Samples/android.kt", "Samples/harness.kt", "Samples/harness.mjs", "Samples/pages-android.kt",
                "Samples/pages-harness.kt", "Samples/pages.mjs",
            ], swiftSettings: strict),
        // It runs the built command.
        tests(
            "EndToEndTests",
            [
                "Basics", "ClientConformance", "PushRegistryClient", "PushRegistryTesting",
                "RegistryStore", "RegistryTestSupport", "push-registry", "EmbeddedPostgres", "PostgresClient",
                crypto, logging,
            ],
            // Exports of other systems, written for these tests.
            resources: [.copy("Import/Exports")]),
        // It drives Chromium, if that is installed.
        tests(
            "ConsoleTests",
            [
                "Basics", "PostgresClient", "PushRegistry", "RegistryAPI", "RegistryTestSupport",
                "StrictJSON", "push-registry",
            ]),
        tests(
            "FleetGeneratorTests",
            [
                "Basics", "FleetGenerator", "EmbeddedPostgres", "EventLoop", "PostgresClient", "PushRegistry",
                "RegistryAPI", "RegistryJobs", "RegistryStore", "RegistryTestSupport", crypto, logging,
            ]),
    ]
)

// Thread Sanitizer checks the engine alone: `make tsan` builds no other package and no other target.
if Context.environment["PUSH_REGISTRY_ENGINE"] != nil {
    let names = [
        "Basics", "CLinux", "COpenSSL", "CZlib", "EventLoop", "HTTPApplication", "HTTPServer", "HTTPWire", "StrictJSON",
        "Telemetry", "BasicsTests", "EventLoopTests", "HTTPServerTests", "TelemetryTests",
    ]
    package.targets.removeAll { !names.contains($0.name) }
    package.products = []
    package.dependencies.removeAll { dependency in
        !["swift-collections", "swift-http-types", "swift-log", "swift-metrics"].contains {
            "\(dependency.kind)".contains($0)
        }
    }
}
