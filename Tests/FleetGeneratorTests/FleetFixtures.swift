import EmbeddedPostgres
import EventLoop
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryStore
import RegistryTestSupport

@testable import FleetGenerator

extension Fleet {
    /// A fleet without a database, as of 2026-11-21T12:00:00Z.
    static func make(seed: UInt64 = 1, count: Int = 1_000, storesAdvertisingID: Bool = false) throws -> Fleet {
        var draft = AppPolicy.Draft()
        draft.storesAdvertisingID = storesAdvertisingID
        let app = App(number: AppNumber(7), id: try AppID("com.example.test"), policy: try AppPolicy(draft))
        return Fleet(
            seed: seed, app: app, count: count, asOf: Timestamp(microseconds: 1_795_262_400_000_000),
            links: try TimeZoneLinks())
    }
}

/// Lends a migrated database with one app.
func withDatabase(
    _ body: @escaping @Sendable (PostgresConfiguration, App) async throws -> Void
) async throws {
    try await ThrowawayCluster.withDatabase(from: .migrated) { server in
        let database = try PostgresConfiguration(server.connectionString)
        try await body(database, try await App.find(AppID("com.example.test"), in: database))
    }
}

/// Lends the service's own store on the database.
func withStore(
    _ database: PostgresConfiguration, _ body: @escaping @Sendable (PostgresInstallationStore) async throws -> Void
) async throws {
    let loop = EventLoop(name: "test")
    defer { loop.stop() }
    try await withTaskExecutorPreference(loop) {
        let client = PostgresClient(database, on: loop, logger: Logger(label: "test"))
        let store = PostgresInstallationStore(LoopResources(postgres: client))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop) { await client.run() }
            group.addTask(executorPreference: loop) { await store.run() }
            try await body(store)
            group.cancelAll()
            try await group.waitForAll()
        }
    }
}

extension Timestamp {
    static var now: Timestamp { Timestamp(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000) }
}
