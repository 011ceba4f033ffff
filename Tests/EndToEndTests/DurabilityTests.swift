import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Synchronization
import Testing

/// What clients were told, all of them together.
private final class Ledger: Sendable {
    private struct Entries {
        var acknowledged: [String: Int64] = [:]
        var answers: [HTTPResponse] = []
        var failures: [String] = []
    }

    private let entries = Mutex(Entries())

    func note(_ installID: String, _ answer: HTTPResponse) {
        entries.withLock { entries in
            if answer.status < 300, let generation = answer.generation { entries.acknowledged[installID] = generation }
            if answer.status >= 300 { entries.answers.append(answer) }
        }
    }

    func note(_ error: any Error) { entries.withLock { $0.failures.append("\(error)") } }

    var acknowledged: [String: Int64] { entries.withLock { $0.acknowledged } }
    var refusals: [HTTPResponse] { entries.withLock { $0.answers } }
    var failures: [String] { entries.withLock { $0.failures } }
}

@Suite("What was acknowledged is durable, and what fails says so (R15)")
struct DurabilityTests {
    private static let clients = 32

    /// Runs `body` while clients register one new installation after the other.
    private func underLoad(
        _ app: RegistryApp, _ body: (Ledger) async throws -> Void
    ) async throws -> Ledger {
        let ledger = Ledger()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<Self.clients {
                group.addTask { try await register(app, client, ledger) }
            }
            try await body(ledger)
            group.cancelAll()
            try await group.waitForAll()
        }
        return ledger
    }

    private func register(_ app: RegistryApp, _ client: Int, _ ledger: Ledger) async throws {
        let connection = try HTTPConnection(port: app.registry.client.port)
        for number in 0... {
            guard !Task.isCancelled else { return }
            let installID = "phone-\(client)-\(number)"
            ledger.note(installID, try await connection.response(to: app.registration(installID, as: "u\(client)")))
        }
    }

    @Test func acknowledgedRegistrations_survive_whenPostgreSQLIsKilled() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            var outage: Duration = .zero
            let ledger = try await underLoad(app) { ledger in
                try await eventually("registrations flow") { ledger.acknowledged.count > 500 }
                await registry.cluster.kill()
                try await eventually("clients are refused") { ledger.refusals.count > Self.clients }
                #expect(try await registry.send("GET", "/readyz").status == 503)
                #expect(try await registry.send("GET", "/healthz").status == 200)
                try await registry.cluster.restart()
                outage = try await timeToHeal(ledger)
            }
            #expect(outage < .seconds(2))
            for refusal in ledger.refusals {
                #expect(refusal.status == 503)
                #expect(Int(refusal["Retry-After"] ?? "") ?? 0 > 0)
                #expect(refusal["Content-Type"] == "application/problem+json")
            }
            try await expectKept(ledger, app)
            #expect(try await registry.send("GET", "/readyz").status == 200)
        }
    }

    private func timeToHeal(_ ledger: Ledger) async throws -> Duration {
        let (count, start) = (ledger.acknowledged.count, ContinuousClock.now)
        try await eventually("registrations flow again") { ledger.acknowledged.count > count + Self.clients }
        return ContinuousClock.now - start
    }

    /// Every acknowledged installation is there as it was acknowledged, with its event.
    private func expectKept(_ ledger: Ledger, _ app: RegistryApp) async throws {
        let rows = try await app.database.rows(
            """
            SELECT i.install_id, i.generation FROM installation i JOIN app ON app.id = i.app_id
            JOIN token_event e ON e.app_id = i.app_id AND e.install_id = i.install_id
                AND e.generation_after = i.generation
            WHERE identifier = \(app.id) AND i.state = 'active' AND i.token IS NOT NULL
            """)
        let kept: [String: Int64] = try Dictionary(
            uniqueKeysWithValues: rows.map { (try $0.decode(0), try $0.decode(1)) })
        let lost = ledger.acknowledged.filter { kept[$0.key] != $0.value }
        #expect(lost.isEmpty, "\(lost.count) of \(ledger.acknowledged.count) acknowledged registrations are lost")
    }

    @Test func service_reconnects_whenItsSessionsAreTerminated() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            for round in 1...5 {
                _ = try await registry.database.rows(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE pid <> pg_backend_pid() AND application_name = 'push-registry'
                    """)
                try await eventually("registrations succeed again", within: .seconds(2)) {
                    let status = try await app.put("phone", as: "user-\(round)").status
                    #expect([200, 201, 503].contains(status))
                    return status < 300
                }
            }
            try await app.expectCompleteHistory()
        }
    }

    @Test func slowRow_holdsUpNobodyElse_whenItIsLocked() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            _ = try await app.put("locked", as: "alice")
            _ = try await app.put("free", as: "alice")
            try await registry.database.withTransaction { transaction in
                _ = try await transaction.execute("SELECT 1 FROM installation WHERE install_id = 'locked' FOR UPDATE")
                async let waiting = app.put("locked", as: "bob")
                #expect(try await app.put("locked", as: "alice").json["status"] == "unchanged")
                #expect(try await app.put("free", as: "bob").status == 200)
                try await transaction.commit()
                #expect(try await waiting.json["userId"] == "bob")
            }
        }
    }
}
