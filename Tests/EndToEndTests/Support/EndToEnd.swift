import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

/// The promises of a running service. These suites share one registry and have an app each; tests that stop the
/// database or the service have their own registry.
///
/// `make test-citus` runs all suites in it, and no others. Only they get a registry that is distributed.
@Suite("End to end", .sharedRegistry, .aFewAtATime)
enum EndToEnd {}

/// Lends one registry to all tests of a suite.
struct SharedRegistry: SuiteTrait, TestScoping {
    @TaskLocal static var current: Registry?
    /// Whether it is the registry of one suite in `EndToEnd`.
    fileprivate var isSeparate = false

    /// Of the tests of the registry. A registry takes one of few clusters: if its tests waited for tests of another
    /// registry, which wait for a cluster of their own, both would wait forever.
    @TaskLocal fileprivate static var turns = makeTurns()

    /// A statement takes longer on Citus.
    private static func makeTurns() -> TestSemaphore { TestSemaphore(count: CitusCluster.isWanted ? 4 : 6) }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        if isSeparate { _ = try #require(Self.current, "Nest the suite in EndToEnd, for make test-citus to find it.") }
        try await Self.$turns.withValue(Self.makeTurns()) {
            if CitusCluster.isWanted {
                try await withDistributedRegistry { registry, _ in
                    try await Self.$current.withValue(registry) { try await function() }
                }
            } else {
                try await withRegistry { registry in
                    try await Self.$current.withValue(registry) { try await function() }
                }
            }
        }
    }
}

/// Limits the concurrent tests of a shared registry: with 24 at once, a service on two slow cores was so busy that
/// changes of one installation by 64 clients waited more than ten seconds, and were refused.
struct AFewAtATime: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let turns = SharedRegistry.turns
        await turns.wait()
        do {
            try await function()
        } catch {
            await turns.signal()
            throw error
        }
        await turns.signal()
    }
}

extension Trait where Self == AFewAtATime {
    static var aFewAtATime: AFewAtATime { AFewAtATime() }
}

extension Trait where Self == SharedRegistry {
    fileprivate static var sharedRegistry: SharedRegistry { SharedRegistry() }

    /// A registry for one suite in `EndToEnd` whose calls concern all apps.
    static var separateRegistry: SharedRegistry { SharedRegistry(isSeparate: true) }
}

extension Registry {
    /// The registry that the suites share.
    static var shared: Registry {
        get throws { try #require(SharedRegistry.current) }
    }

    /// The sessions of the service that wait for a lock.
    func waitingSessions() async throws -> Int {
        try await database.count(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND application_name = 'push-registry'
            """)
    }

    /// Lends another service on the same database.
    func withOtherService(
        environment: [String: String] = [:], _ body: (Registry) async throws -> Void
    ) async throws {
        try await RunningService.with(databaseURL: cluster.connectionString, environment: environment) { service in
            try await body(Registry(cluster: cluster, service: service, database: database))
        }
    }

    /// Expects that `push-registry verify` finds nothing.
    func expectVerified(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let result = try await run(["verify"])
        #expect(result.status == 0, "\(result.output)", sourceLocation: sourceLocation)
    }
}

extension RegistryApp {
    /// A new app of the shared registry.
    static func make(policy: JSON = [:]) async throws -> RegistryApp {
        try await make(in: .shared, policy: policy)
    }
}

/// The text of a page of the documentation, such as `Security`.
func documentationPage(_ name: String) throws -> String {
    let folder = URL(filePath: #filePath).appending(
        path: "../../../../Sources/Command/push-registry/Documentation.docc")
    return try String(contentsOf: folder.appending(path: "\(name).md").standardized, encoding: .utf8)
}
