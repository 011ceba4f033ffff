import EventLoop
import Logging
import PostgresClient
import PushRegistry
import Receipts
import RegistryJobs
import RegistryStore
import Testing

@testable import RegistryAPI

/// Fails at every call.
private struct NoKeySets: KeySetFetcher {
    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
        throw KeySetFailure(reason: "this test fetches nothing")
    }
}

extension RegistryAPI.RegistryService {
    /// A service whose calls cannot reach a database.
    ///
    /// - Parameter metrics: returns the text of `GET /metrics`.
    static func withoutDatabase(
        on loop: EventLoop, metrics: @escaping @Sendable () -> [UInt8] = { [] }
    ) throws -> RegistryAPI.RegistryService {
        let logger = Logger(label: "no-database")
        let postgres = PostgresClient(
            try PostgresConfiguration("host=/nowhere"), on: loop, limits: .init(connectionsMin: 0, connectionsMax: 1),
            logger: logger)
        let resources = LoopResources(postgres: postgres)
        return RegistryAPI.RegistryService(
            installations: PostgresInstallationStore(resources), users: PostgresUserStore(resources),
            notifications: PostgresNotificationStore(resources),
            feedback: PostgresFeedbackStore(resources), events: PostgresEventStore(resources),
            messages: PostgresMessageStore(resources),
            audiences: PostgresAudienceStore(postgres: postgres, limits: AudienceStoreLimits()),
            segments: PostgresSegmentStore(postgres: postgres), topics: PostgresTopicStore(resources),
            directory: PostgresAppDirectory(postgres: postgres),
            admin: try #require(AdminKey("an admin key of the tests")), links: try TimeZoneLinks(),
            keySets: ProviderKeySets(NoKeySets(), logger: logger), limits: CallLimits(),
            receiptKeys: ReceiptKeys(),
            apiDescription: APIDescription(version: "1"), errorPage: ErrorPage(), keyUses: KeyUseLog(),
            cleanUpRuns: PostgresCleanUpRunStore(postgres: postgres),
            auditEntries: PostgresAuditStore(postgres: postgres),
            readiness: ReadinessCheck { .init(obstacles: []) },
            metrics: metrics,
            console: Console(
                page: ConsolePage(), sessions: PostgresConsoleSessionStore(postgres: postgres),
                origin: ConsoleOrigin(configured: nil, usesTLS: false), codes: OneTimeCodes(),
                rates: { .init(process: "", startedAt: .now(), requests: [:], registrations: [:]) }),
            logger: logger)
    }
}
