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

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let collections: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")

/// A target of the product.
func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The tests of one target, in `Tests/<name>`.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "push-registry",
    products: [
        .executable(name: "push-registry", targets: ["push-registry"]),
        .executable(name: "push-registry-bench", targets: ["push-registry-bench"]),
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
        module("EventLoop", ["CLinux", collections, heap]),
        module("ByteText", []),
        module("HTTPWire", ["ByteText", httpTypes]),
        module(
            "HTTPServer",
            [
                "ByteText", "CLinux", "EventLoop", "HTTPWire", "COpenSSL", "CZlib", collections, httpTypes, logging,
            ]),
        module("StrictJSON", ["ByteText"]),
        module("Telemetry", ["ByteText", "HTTPServer", "HTTPWire", "StrictJSON", coreMetrics, httpTypes, logging]),
        module(
            "RegistryAPI",
            [
                "ByteText", "PushRegistry", "HTTPServer", "HTTPWire", "OpenAPIDocument", "Receipts", "StrictJSON",
                crypto, cryptoExtras, httpTypes, logging, metrics,
            ]),
        .target(name: "OpenAPIDocument", resources: [.embedInCode("openapi.json")], swiftSettings: strict),
        module("PushRegistry", ["ByteText"]),
        module("Receipts", ["ByteText", "PushRegistry", crypto]),
        module("HTTPFetch", ["CCurl"]),
        module(
            "RegistryStore", ["EventLoop", "PushRegistry", "PostgresClient", "Receipts", collections, crypto, metrics]),
        module("PostgresClient", ["EventLoop", "CPostgres", collections, logging, metrics]),
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
            ],
            swiftSettings: strict),

        // The command.
        module("EmbeddedPostgres", [subprocess, logging]),
        .executableTarget(
            name: "push-registry",
            dependencies: [
                "EventLoop", "HTTPServer", "HTTPWire", "PostgresClient", "PushRegistry", "Receipts", "RegistryAPI",
                "RegistryStore", "EmbeddedPostgres", "HTTPFetch", "Migrations", "StrictJSON", "Telemetry",
                argumentParser, coreMetrics,
                logging,
                serviceLifecycle,
                unixSignals,
            ],
            swiftSettings: strict),

        // Fleets, load and benchmarks; never part of the product.
        module("SeededRandom", []),
        module(
            "FleetGenerator",
            ["PushRegistry", "PostgresClient", "RegistryStore", "SeededRandom", "StrictJSON", crypto]),
        .executableTarget(
            name: "push-registry-bench",
            dependencies: [
                "FleetGenerator", "EmbeddedPostgres", "EventLoop", "Migrations", "PostgresClient", "PushRegistry",
                "Receipts", "RegistryStore", "HTTPServer", "StrictJSON", "COpenSSL", argumentParser, httpTypes, logging,
                subprocess,
            ],
            // A package of its own, which the benchmark writes out and builds when it is asked to.
            resources: [
                .embedInCode("Engine/Hummingbird/Package.swift.txt"), .embedInCode("Engine/Hummingbird/main.swift.txt"),
            ],
            swiftSettings: strict),

        // What tests that need a running service share; never part of the product.
        module(
            "RegistryTestSupport",
            ["EmbeddedPostgres", "EventLoop", "HTTPServer", "PostgresClient", httpTypes, logging]),

        // Tests.
        tests("ByteTextTests", ["ByteText"]),
        tests("EventLoopTests", ["EventLoop"]),
        tests("HTTPWireTests", ["HTTPWire", "SeededRandom"]),
        tests(
            "HTTPServerTests",
            [
                "HTTPServer", "HTTPWire", "EventLoop", "SeededRandom", "COpenSSL", "CZlib", httpTypes, logging,
            ]),
        tests("HTTPFetchTests", ["HTTPFetch", "HTTPServer", "RegistryTestSupport"]),
        tests("StrictJSONTests", ["StrictJSON", "SeededRandom"]),
        tests(
            "TelemetryTests", ["Telemetry", "HTTPServer", "HTTPWire", "SeededRandom", coreMetrics, httpTypes, logging]),
        tests("PushRegistryTests", ["PushRegistry"]),
        tests("ReceiptsTests", ["ByteText", "PushRegistry", "Receipts"]),
        tests(
            "RegistryAPITests",
            [
                "ByteText", "RegistryAPI", "RegistryStore", "RegistryTestSupport", "EventLoop", "OpenAPIDocument",
                "PostgresClient", "PushRegistry", "Receipts", "StrictJSON", crypto, cryptoExtras, httpTypes, logging,
            ]),
        tests(
            "CommandTests",
            [
                "push-registry", "HTTPServer", "HTTPWire", "PushRegistry", "RegistryAPI", "RegistryStore",
                argumentParser,
                logging,
            ]),
        tests("PostgresClientTests", ["PostgresClient", "EmbeddedPostgres"]),
        tests("EmbeddedPostgresTests", ["EmbeddedPostgres"]),
        tests("MigrationsTests", ["Migrations"]),
        tests(
            "RegistryStoreTests",
            [
                "RegistryStore", "PushRegistry", "PostgresClient", "EventLoop", "EmbeddedPostgres", "Migrations",
                "Receipts", "SeededRandom", crypto,
                logging,
            ]),
        // It runs the built command.
        tests(
            "EndToEndTests",
            [
                "ByteText", "RegistryTestSupport", "push-registry", "EmbeddedPostgres", "PostgresClient",
                "SeededRandom",
                crypto, logging,
            ]),
        tests(
            "FleetGeneratorTests",
            [
                "FleetGenerator", "EmbeddedPostgres", "EventLoop", "Migrations", "PostgresClient", "PushRegistry",
                "RegistryAPI", "RegistryStore", logging,
            ]),
    ]
)
