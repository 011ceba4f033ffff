import Foundation
import PostgresClient
import RegistryTestSupport
import Synchronization
import Testing

/// What clients were told, all of them together.
final class Ledger: Sendable {
    private struct Entries {
        var acknowledged: [String: Int64] = [:]
        var answers: [HTTPResponse] = []
    }

    private let entries = Mutex(Entries())

    func note(_ installID: String, _ answer: HTTPResponse) {
        entries.withLock { entries in
            if answer.status < 300, let generation = answer.generation { entries.acknowledged[installID] = generation }
            if answer.status >= 300 { entries.answers.append(answer) }
        }
    }

    var acknowledged: [String: Int64] { entries.withLock { $0.acknowledged } }
    var refusals: [HTTPResponse] { entries.withLock { $0.answers } }

    /// Everybody who was refused was told to try again, and when.
    func expectClearRefusals(sourceLocation: SourceLocation = #_sourceLocation) {
        let unclear = refusals.filter { refusal in
            refusal.status != 503 || (Int(refusal["Retry-After"] ?? "") ?? 0) < 1
                || refusal["Content-Type"] != "application/problem+json"
        }
        #expect(unclear.isEmpty, "\(unclear.prefix(3).map(\.text))", sourceLocation: sourceLocation)
    }

    /// How long it takes until another `count` registrations were acknowledged.
    func timeToHeal(_ count: Int = Load.clients) async throws -> Duration {
        let (before, start) = (acknowledged.count, ContinuousClock.now)
        try await eventually("registrations flow again") { acknowledged.count > before + count }
        return ContinuousClock.now - start
    }
}

/// Clients that register one new installation after the other.
enum Load {
    static let clients = 32

    /// Runs `body` meanwhile.
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

    /// A connection that the server closes after an answer is followed by another; one that fails, fails the test.
    private static func register(_ app: RegistryApp, _ client: Int, _ ledger: Ledger) async throws {
        var connection = try HTTPConnection(port: app.registry.client.port)
        for number in 0... {
            guard !Task.isCancelled else { return }
            let installID = "phone-\(client)-\(number)"
            let answer = try await connection.response(to: app.registration(installID, as: "u\(client)"))
            ledger.note(installID, answer)
            if answer["Connection"] == "close" { connection = try HTTPConnection(port: app.registry.client.port) }
        }
    }
}

extension RegistryApp {
    /// Every acknowledged installation is there as it was acknowledged, with its event.
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
