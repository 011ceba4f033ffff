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

/// Only the server needs other packages. An app that depends on this package with `traits: []` resolves none of them.
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

/// A target of the product.
func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The tests of one target, in `Tests/<name>`.
func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

let package = Package(
    name: "push-registry",
    // Of the client. The server runs on Linux.
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "PushRegistryClient", targets: ["PushRegistryClient"]),
        .library(name: "PushRegistryNotificationService", targets: ["PushRegistryNotificationService"]),
        .library(name: "PushRegistryTesting", targets: ["PushRegistryTesting"]),
        .executable(name: "push-registry", targets: ["push-registry"]),
        .executable(name: "push-registry-bench", targets: ["push-registry-bench"]),
    ],
    traits: [
        .default(enabledTraits: ["Server"]),
        .trait(name: "Server", description: "The service and its command, with the packages that they need."),
    ],
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
        .systemLibrary(name: "CCurl", path: "Sources/CCurl"),
        .systemLibrary(name: "CLinux", path: "Sources/CLinux"),
        .systemLibrary(
            name: "COpenSSL", path: "Sources/COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CPostgres", path: "Sources/CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZlib", path: "Sources/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // A request's way, left to right.
        module("Locking", []),
        module("EventLoop", ["CLinux", "Locking", collections, heap]),
        module("ByteText", []),
        module("HTTPWire", ["ByteText", httpTypes]),
        module(
            "HTTPServer",
            [
                "ByteText", "CLinux", "EventLoop", "HTTPWire", "COpenSSL", "CZlib", "Locking", collections, httpTypes,
                logging,
            ]),
        module("StrictJSON", ["ByteText"]),
        module(
            "Telemetry",
            ["ByteText", "HTTPServer", "HTTPWire", "Locking", "StrictJSON", coreMetrics, httpTypes, logging]),
        module(
            "RegistryAPI",
            [
                "ByteText", "ConsoleFiles", "EventLoop", "PushRegistry", "HTTPServer", "HTTPWire", "Locking",
                "OpenAPIDocument", "Receipts", "StrictJSON", crypto, cryptoExtras, httpTypes, logging, metrics,
            ]),
        // C embeds files, because the compiler needs minutes for array literals of Swift of their size.
        .target(name: "COpenAPIDocument"),
        .target(
            name: "OpenAPIDocument", dependencies: ["COpenAPIDocument"], exclude: ["openapi.json"],
            swiftSettings: strict),
        // The page at /console/.
        .target(name: "CConsoleFiles"),
        .target(name: "ConsoleFiles", dependencies: ["CConsoleFiles"], exclude: ["Files"], swiftSettings: strict),
        module("PushRegistry", ["ByteText"]),
        module("Receipts", ["ByteText", "COpenSSL", "Locking", "PushRegistry", crypto]),
        module("HTTPFetch", ["CCurl"]),
        module(
            "RegistryStore",
            ["EventLoop", "Locking", "PushRegistry", "PostgresClient", "Receipts", collections, crypto, metrics]),
        module("PostgresClient", ["EventLoop", "COpenSSL", "CPostgres", "Locking", collections, logging, metrics]),
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
            ],
            swiftSettings: strict),

        // The command.
        module("EmbeddedPostgres", ["ByteText", subprocess, logging]),
        .executableTarget(
            name: "push-registry",
            dependencies: [
                "ByteText", "CZlib", "EventLoop", "FleetGenerator", "HTTPServer", "HTTPWire", "Locking",
                "PostgresClient", "PushRegistry", "Receipts", "RegistryAPI", "RegistryStore", "EmbeddedPostgres",
                "HTTPFetch", "Migrations", "StrictJSON", "Telemetry", argumentParser, coreMetrics, crypto, logging,
                serviceLifecycle, unixSignals,
            ],
            swiftSettings: strict),

        // The app's side. It depends on Foundation alone.
        .target(
            name: "PushRegistryClient", resources: [.copy("PrivacyInfo.xcprivacy")], swiftSettings: strict),
        module("PushRegistryNotificationService", ["PushRegistryClient"]),
        module("PushRegistryTesting", ["PushRegistryClient"]),

        // Fleets, for tests, benchmarks and the demo.
        module("SeededRandom", []),
        module(
            "FleetGenerator",
            ["ByteText", "PushRegistry", "PostgresClient", "RegistryStore", "SeededRandom", "StrictJSON", crypto]),

        // Load and benchmarks; never part of the product.
        .executableTarget(
            name: "push-registry-bench",
            dependencies: [
                "FleetGenerator", "EmbeddedPostgres", "EventLoop", "Locking", "Migrations", "PostgresClient",
                "PushRegistry", "Receipts", "RegistryStore", "RegistryTestSupport", "SeededRandom", "HTTPServer",
                "StrictJSON", "COpenSSL", argumentParser, crypto, httpTypes, logging, subprocess,
            ],
            // A package of its own, which the benchmark writes out and builds when it is asked to; and wrk's script.
            resources: [
                .embedInCode("Engine/Hummingbird/Package.swift.txt"), .embedInCode("Engine/Hummingbird/main.swift.txt"),
                .embedInCode("Load/wrk.lua"),
            ],
            swiftSettings: strict),

        // What tests that need a running service share; never part of the product.
        module(
            "RegistryTestSupport",
            [
                "ByteText", "EmbeddedPostgres", "EventLoop", "HTTPServer", "Locking", "Migrations", "PostgresClient",
                httpTypes, logging,
            ]),

        // What the service and the in-memory registry promise to a client, for both.
        module("ClientConformance", ["ByteText", "PushRegistryClient", "PushRegistryTesting"]),

        // Tests.
        tests("LockingTests", ["Locking"]),
        tests("ByteTextTests", ["ByteText"]),
        tests("EventLoopTests", ["EventLoop"]),
        tests("HTTPWireTests", ["HTTPWire", "SeededRandom"]),
        tests(
            "HTTPServerTests",
            [
                "HTTPServer", "HTTPWire", "EventLoop", "Locking", "SeededRandom", "COpenSSL", "CZlib", httpTypes,
                logging,
            ]),
        tests("HTTPFetchTests", ["HTTPFetch", "HTTPServer", "RegistryTestSupport"]),
        tests("StrictJSONTests", ["StrictJSON", "SeededRandom"]),
        tests(
            "TelemetryTests",
            ["Telemetry", "HTTPServer", "HTTPWire", "Locking", "SeededRandom", coreMetrics, httpTypes, logging]),
        tests("PushRegistryTests", ["PushRegistry"]),
        tests("ReceiptsTests", ["ByteText", "PushRegistry", "Receipts"]),
        tests(
            "RegistryAPITests",
            [
                "ByteText", "ConsoleFiles", "RegistryAPI", "RegistryStore", "RegistryTestSupport", "EventLoop",
                "Locking", "OpenAPIDocument", "PostgresClient", "PushRegistry", "Receipts", "StrictJSON", crypto,
                cryptoExtras, httpTypes, logging,
            ]),
        tests(
            "CommandTests",
            [
                "push-registry", "HTTPServer", "HTTPWire", "PushRegistry", "RegistryAPI", "RegistryStore",
                argumentParser,
                logging,
            ]),
        tests("PostgresClientTests", ["COpenSSL", "PostgresClient", "EmbeddedPostgres", "RegistryTestSupport"]),
        tests("EmbeddedPostgresTests", ["EmbeddedPostgres"]),
        tests("MigrationsTests", ["Migrations"]),
        tests(
            "RegistryStoreTests",
            [
                "ByteText", "RegistryStore", "PushRegistry", "PostgresClient", "EventLoop", "EmbeddedPostgres",
                "Locking", "Receipts", "RegistryTestSupport", "SeededRandom", crypto, logging,
            ]),
        // Without the server, so that they build fast.
        .testTarget(
            name: "PushRegistryClientTests",
            dependencies: [
                "PushRegistryClient", "PushRegistryNotificationService", "PushRegistryTesting", "ClientConformance",
            ],
            exclude: [
                "Samples/android.kt", "Samples/harness.kt", "Samples/harness.mjs", "Samples/pages-android.kt",
                "Samples/pages-harness.kt", "Samples/pages.mjs", "Samples/sender.py",
            ], swiftSettings: strict),
        // It runs the built command.
        tests(
            "EndToEndTests",
            [
                "ByteText", "ClientConformance", "Locking", "PushRegistryClient", "PushRegistryTesting",
                "RegistryStore", "RegistryTestSupport", "push-registry", "EmbeddedPostgres", "PostgresClient",
                "SeededRandom", crypto, logging,
            ],
            // Exports of other systems, written for these tests.
            resources: [.copy("Import/Exports")]),
        // It drives Chromium, if that is installed.
        tests(
            "ConsoleTests",
            [
                "ConsoleFiles", "Locking", "PostgresClient", "PushRegistry", "RegistryAPI", "RegistryTestSupport",
                "SeededRandom", "StrictJSON", "push-registry",
            ]),
        tests(
            "FleetGeneratorTests",
            [
                "FleetGenerator", "EmbeddedPostgres", "EventLoop", "Locking", "PostgresClient", "PushRegistry",
                "RegistryAPI", "RegistryStore", "RegistryTestSupport", crypto, logging,
            ]),
    ]
)

// Thread Sanitizer checks the engine alone: `make tsan` builds no other package and no other target.
if Context.environment["PUSH_REGISTRY_ENGINE"] != nil {
    let names = [
        "ByteText", "CLinux", "COpenSSL", "CZlib", "EventLoop", "HTTPServer", "HTTPWire", "Locking", "SeededRandom",
        "StrictJSON", "Telemetry", "EventLoopTests", "HTTPServerTests", "LockingTests", "TelemetryTests",
    ]
    package.targets.removeAll { !names.contains($0.name) }
    package.products = []
    package.dependencies.removeAll { dependency in
        !["swift-collections", "swift-http-types", "swift-log", "swift-metrics"].contains {
            "\(dependency.kind)".contains($0)
        }
    }
}
