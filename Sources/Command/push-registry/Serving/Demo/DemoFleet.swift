import EventLoop
import FleetGenerator
import Logging
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryJobs
import RegistryStore

/// The app of the demo's console: a fleet that resembles a real one, with topics, segments, a message and runs of the
/// night job, so that every picture has something to show.
struct DemoFleet {
    static let appText = "com.example.fleet"
    static let installationCount = 20_000
    private static let seed: UInt64 = 1

    /// The segments of the app. They are saved last, so an app that has them is complete.
    private static let segments = [
        (
            name: "german-iphones", filter: #"{"locale": "de", "systemName": "iOS", "osVersion": {"gte": "17.2"}}"#,
            description: "German iPhones with iOS 17.2 or later"
        ),
        (
            name: "active-this-week", filter: #"{"lastSeenAt": {"within": "P7D"}}"#,
            description: "Seen in the last seven days"
        ),
    ]

    private let database: Database
    private let audiences: AudienceSettings
    private let logger: Logger

    init(_ database: Database, _ audiences: AudienceSettings, logger: Logger) {
        self.database = database
        self.audiences = audiences
        self.logger = logger
    }

    /// Fills the app, unless an earlier start did. An interrupted start is continued.
    func fill() async throws {
        try await database.withDirectory { directory in
            guard let app = try await directory.current().apps[try Self.appText.asAppID()] else { return }
            let segments = PostgresSegmentStore(postgres: directory.postgres)
            guard try await segments.segments(of: app.number, after: nil, limit: 1).isEmpty else { return }
            try await load(app)
            try await cleanUp(app)
            try await withCampaign { try await $0.run(for: app, in: directory) }
            for segment in Self.segments {
                _ = try await segments.put(
                    try SegmentName(segment.name), filter: segment.filter, description: segment.description, uses: [],
                    topics: [], in: app.number, recording: .ofCommand(.segmentSaved, segment.name),
                    check: { _, _ in })
            }
        }
    }

    /// Installations are loaded in the order of their numbers, so the number of those that exist is the next one.
    private func load(_ app: App) async throws {
        let existing = try await database.withAudiences(of: app, audiences) { console in
            let everybody = try await console.audience(filter: "{}", segments: [], include: .all)
            return Int(try await console.count(everybody).count)
        }
        guard existing < Self.installationCount else { return }
        show("Filling the app \(app.id) with \(Self.installationCount) installations, some seconds …")
        let line = ProgressLine()
        defer { line.clear() }
        var loader = FleetLoader()
        loader.progress = { line.show("\(existing + $0) of \(Self.installationCount) installations") }
        let fleet = Fleet(
            seed: Self.seed, app: app, count: Self.installationCount, asOf: .now(), links: try TimeZoneLinks())
        try await loader.load(fleet, existing..<Self.installationCount, into: database.configuration)
    }

    /// Two runs of the night job: one that may retire too few installations skips the app, and one retires them.
    private func cleanUp(_ app: App) async throws {
        for maxShare in [0.01, CleanUpBreaker.standardShare] {
            var options = CleanUp.Options()
            options.apps = [app.id]
            options.breaker = CleanUpBreaker(maxShare: maxShare)
            options.process = "the demo"
            _ = try await CleanUp(database.configuration).run(options)
        }
    }

    /// Lends the demo's campaign with stores of its own.
    private func withCampaign(_ body: (DemoCampaign) async throws -> Void) async throws {
        let loop = EventLoop(name: "demo")
        defer { loop.stop() }
        let limits = PostgresPoolLimits(connectionsMin: 0, connectionsMax: 4)
        let postgres = PostgresClient(try database.configuration, on: loop, limits: limits, logger: logger)
        let queries = PostgresClient(
            try database.audienceConfiguration(audiences), on: loop, limits: limits, logger: logger)
        let resources = LoopResources(postgres: postgres)
        let campaign = DemoCampaign(
            topics: PostgresTopicStore(resources), messages: PostgresMessageStore(resources),
            audiences: PostgresAudienceStore(postgres: queries, limits: audiences.limits))
        // All are cancelled at the end of this scope.
        async let _ = postgres.run()
        async let _ = queries.run()
        async let _ = campaign.topics.run()
        async let _ = campaign.messages.run()
        try await body(campaign)
    }
}
