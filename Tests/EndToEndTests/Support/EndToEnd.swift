import RegistryTestSupport
import Testing

/// All that a running service promises. The suites in here share one registry and have an app each; what stops the
/// database or the service has a registry of its own.
@Suite("End to end", .sharedRegistry)
enum EndToEnd {}

/// Lends one registry to all tests of a suite.
struct SharedRegistry: SuiteTrait, TestScoping {
    @TaskLocal static var current: Registry?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withRegistry { registry in
            try await Self.$current.withValue(registry) { try await function() }
        }
    }
}

extension Trait where Self == SharedRegistry {
    static var sharedRegistry: SharedRegistry { SharedRegistry() }
}

extension Registry {
    /// The one that the suites share.
    static var shared: Registry {
        get throws { try #require(SharedRegistry.current) }
    }
}

extension RegistryApp {
    /// A new app of the shared registry.
    static func make(policy: JSON = [:]) async throws -> RegistryApp {
        try await make(in: .shared, policy: policy)
    }
}
