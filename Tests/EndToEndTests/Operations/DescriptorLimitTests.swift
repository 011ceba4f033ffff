import EmbeddedPostgres
import Logging
import RegistryTestSupport
import Testing

@Suite("The service uses as many open files as the system grants", .serialized)
struct DescriptorLimitTests {
    private static let descriptorsMax = 256
    private let logger = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }

    @Test func softLimitIsRaised_whenItIsLow() async throws {
        try await ThrowawayCluster.withDatabase(logger: logger) { cluster in
            try await RunningService.with(
                databaseURL: cluster.connectionString, descriptorsSoftMax: Self.descriptorsMax
            ) { service in
                let limits = try service.command.openFilesMax()
                #expect(try #require(limits.soft) > Self.descriptorsMax)
                #expect(limits.soft == limits.hard)
            }
        }
    }

    /// At the limit of connections a new one replaces the longest idle one.
    @Test func fewerClientsAreServed_andTheLogSaysHowMany_whenTheHardLimitIsLow() async throws {
        try await ThrowawayCluster.withDatabase(logger: logger) { cluster in
            try await RunningService.with(
                databaseURL: cluster.connectionString, eventLoops: 1, descriptorsMax: Self.descriptorsMax
            ) { service in
                let warning = try #require(
                    service.command.log.split(separator: "\n").first { $0.contains("fewer connections") })
                let number = try #require(warning.firstMatch(of: /connectionsMax\W+([0-9]+)/))
                let connectionsMax = try #require(Int(number.1))
                #expect((32..<Self.descriptorsMax).contains(connectionsMax))
                var clients: [TestConnection] = []
                for _ in 0..<connectionsMax { clients.append(try await servedClient(of: service)) }
                for client in clients { try await expectServed(client) }
                clients.append(try await servedClient(of: service))
                #expect(await clients.removeFirst().isClosedByServer())
                for client in clients { try await expectServed(client) }
            }
        }
    }

    private func servedClient(of service: RunningService) async throws -> TestConnection {
        let client = try TestConnection(port: service.client.port)
        try await expectServed(client)
        return client
    }

    private func expectServed(_ client: TestConnection) async throws {
        #expect(try await client.response(to: .make("GET", "/healthz", key: nil)).status == 200)
    }
}
