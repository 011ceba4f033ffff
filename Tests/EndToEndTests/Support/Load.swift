import Basics
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

/// The responses of all clients together.
final class Ledger: Sendable {
    private struct Entries {
        var acknowledged: [String: Int64] = [:]
        var responses: [HTTPResponse] = []
    }

    private let entries = Locked(Entries())

    func note(_ installID: String, _ response: HTTPResponse) {
        entries.withLock { entries in
            if response.status < 300, let generation = response.generation {
                entries.acknowledged[installID] = generation
            }
            if response.status >= 300 { entries.responses.append(response) }
        }
    }

    var acknowledged: [String: Int64] { entries.withLock { $0.acknowledged } }
    var refusals: [HTTPResponse] { entries.withLock { $0.responses } }

    /// Whether every refusal has `Retry-After`.
    func expectClearRefusals(sourceLocation: SourceLocation = #_sourceLocation) {
        let unclear = refusals.filter { refusal in
            refusal.status != 503 || (Int(refusal["Retry-After"] ?? "") ?? 0) < 1
                || refusal["Content-Type"] != "application/problem+json"
        }
        #expect(unclear.isEmpty, "\(unclear.prefix(3).map(\.text))", sourceLocation: sourceLocation)
    }

    /// The time until `count` more registrations are acknowledged.
    func timeToHeal(_ count: Int = Load.clients) async throws -> Duration {
        let (before, start) = (acknowledged.count, ContinuousClock.now)
        try await eventually("registrations flow again") { acknowledged.count > before + count }
        return ContinuousClock.now - start
    }
}

/// Clients that register new installations one after another.
enum Load {
    static let clients = 32

    /// Runs `body` under load.
    static func run(on app: RegistryApp, _ body: (Ledger) async throws -> Void) async throws -> Ledger {
        let ledger = Ledger()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<clients {
                group.addTask { try await register(app, client, ledger) }
            }
            try await body(ledger)
            group.cancelAll()
            try await group.waitForAll()
        }
        return ledger
    }

    /// After a response that closes the connection, opens another. A failed connection fails the test.
    private static func register(_ app: RegistryApp, _ client: Int, _ ledger: Ledger) async throws {
        var connection = try TestConnection(port: app.registry.client.port)
        for number in 0... {
            guard !Task.isCancelled else { return }
            let installID = "phone-\(client)-\(number)"
            let response = try await connection.response(to: app.registration(installID, as: "u\(client)"))
            ledger.note(installID, response)
            if response["Connection"] == "close" { connection = try TestConnection(port: app.registry.client.port) }
        }
    }
}

extension RegistryApp {
    /// Checks that every acknowledged installation is stored as acknowledged, with its event.
    func expectKept(_ ledger: Ledger, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let rows = try await database.rows(
            """
            SELECT i.install_id, i.generation FROM installation i JOIN app ON app.id = i.app_id
            JOIN token_event e ON e.app_id = i.app_id AND e.install_id = i.install_id
                AND e.generation_after = i.generation
            WHERE identifier = \(id) AND i.state = 'active' AND i.token IS NOT NULL
            """)
        let kept: [String: Int64] = try Dictionary(
            uniqueKeysWithValues: rows.map { (try $0.decode(0), try $0.decode(1)) })
        let lost = ledger.acknowledged.filter { kept[$0.key] != $0.value }
        #expect(
            lost.isEmpty, "\(lost.count) of \(ledger.acknowledged.count) acknowledged registrations are lost",
            sourceLocation: sourceLocation)
    }
}
