import EventLoop
import HTTPServer
import HTTPTypes
import Logging
import OpenAPIDocument
import PostgresClient
import PushRegistry
import Receipts
import RegistryStore
import RegistryTestSupport
import Testing

@testable import RegistryAPI

/// Fails at every call.
private struct NoKeySets: KeySetFetcher {
    func keySet(at url: KeySetURL) async throws(KeySetFailure) -> PublishedKeySet {
        throw KeySetFailure(reason: "this test fetches nothing")
    }
}

@Suite("The description has exactly the routes of the service")
struct DescribedRoutesTests {
    /// A service without a database: only its routes are read.
    private func service(on loop: EventLoop) throws -> RegistryAPI.RegistryService {
        let logger = Logger(label: "routes")
        let postgres = PostgresClient(
            try PostgresConfiguration("host=/nowhere"), on: loop, limits: .init(connectionsMin: 0, connectionsMax: 1),
            logger: logger)
        let resources = LoopResources(postgres: postgres, clock: RegistryClock())
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
            readiness: ReadinessCheck { .init(obstacles: []) },
            metrics: { [] },
            console: Console(
                page: try ConsolePage(), sessions: PostgresConsoleSessionStore(postgres: postgres),
                origin: ConsoleOrigin(configured: nil, usesTLS: false), codes: OneTimeCodes(),
                rates: { .init(process: "", startedAt: .now(), requests: [:], registrations: [:]) }),
            logger: logger)
    }

    @Test func operations_areExactlyTheRoutes() throws {
        let loop = EventLoop(name: "routes")
        defer { loop.stop() }
        let service = try service(on: loop)
        let routes = (service.routes + service.ownConsoleCalls).map(Self.name)
        let document = try OpenAPI(parsing: OpenAPIDocument.template.utf8)
        #expect(Set(document.operations.map(\.description)) == Set(routes))
    }

    private static func name(_ route: Route) -> String { "\(route.method.rawValue) \(route.pattern)" }

    /// The console has its own calls, and every call of the API that takes a credential.
    @Test func callsOfTheConsole_areThoseOfTheAPI() throws {
        let loop = EventLoop(name: "routes")
        defer { loop.stop() }
        let service = try service(on: loop)
        let shared = service.routes.filter { $0.pattern.hasPrefix("/v1/") && $0.pattern != "/v1/receipts" }
        let expected = shared.map { "\($0.method.rawValue) /console\($0.pattern)" }
        #expect(Set(service.consoleCalls.map(Self.name)) == Set(expected + service.ownConsoleCalls.map(Self.name)))
    }
}
