import PostgresClient
import RegistryTestSupport
import Synchronization
import Testing

extension RegistryApp {
    /// Checks R12: for every installation the steps follow one another without a gap, and the last one
    /// leads to the generation, state and owner that the row has now.
    func expectCompleteHistory(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for installID in try await installIDs() {
            let events = try await events(of: installID)
            var generation: Int64 = 0
            for event in events {
                #expect(event.generationBefore == generation, "\(installID)", sourceLocation: sourceLocation)
                let isStep = event.generationAfter > event.generationBefore
                let isChain = isStep || ["topicsChanged", "tokenMoved"].contains(event.event)
                #expect(isChain, "\(installID)", sourceLocation: sourceLocation)
                generation = event.generationAfter
            }
            let row = try await binding(of: installID)
            #expect(row.generation == generation, "\(installID)", sourceLocation: sourceLocation)
            #expect(row.state == events.last?.state, "\(installID)", sourceLocation: sourceLocation)
            #expect(row.userID == events.last?.userID, "\(installID)", sourceLocation: sourceLocation)
        }
    }

    private func installIDs() async throws -> [String] {
        try await database.column(
            "SELECT install_id FROM installation JOIN app ON app.id = app_id WHERE identifier = \(id)")
    }

    private func binding(of installID: String) async throws -> (generation: Int64, state: String, userID: String?) {
        let row = try #require(
            try await database.rows(
                """
                SELECT generation, state::text, user_id FROM installation JOIN app ON app.id = app_id
                WHERE identifier = \(id) AND install_id = \(installID)
                """
            ).first)
        return (try row.decode(0), try row.decode(1), try row.decode(2))
    }
}

/// Runs `body` concurrently for each number below `count`.
func race<Value: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: Value.self) { group in
        for number in 0..<count { group.addTask { try await body(number) } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
}

/// A counter that tasks share.
final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    var count: Int { value.load(ordering: .relaxed) }

    func increment() { value.wrappingAdd(1, ordering: .relaxed) }
}
