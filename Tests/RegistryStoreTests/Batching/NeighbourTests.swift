import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("Nobody pays for a neighbour: a row that somebody has locked holds up its own registrations alone", .store)
struct NeighbourTests {
    private let store = StoreUnderTest.lent!

    @Test func neighbours_areWritten_whileOneRowIsLockedFromOutside() async throws {
        let names = (0..<64).map { "phone-\($0)" }
        _ = try await store.writeInOneBatch(names.map { try .make($0) })
        try await store.database.withTransaction { holder in
            _ = try await holder.execute("SELECT FROM installation WHERE install_id = 'phone-7' FOR UPDATE")
            async let blocked = store.registerOnce(.make("phone-7", carrier: "new"))
            let others = names.filter { $0 != "phone-7" }
            let outcomes = try await store.registerTogether(others.map { try .make($0, carrier: "new") })
            #expect(outcomes.allSatisfy { $0.status == .updated })
            // And the next ones, while it still waits.
            let again = try await store.registerTogether(others.map { try .make($0, carrier: "newer") })
            #expect(again.allSatisfy { $0.status == .updated })
            try await holder.commit()
            #expect(try await blocked.status == .updated)
        }
        #expect(try await store.count("SELECT count(*) FROM installation WHERE carrier IS NULL") == 0)
    }

    /// A write that is done must not be repeated: its response would be another one.
    @Test func writes_areDoneOnce_whenTheRestOfTheirBatchIsBlocked() async throws {
        let phones = (0..<20).map { "phone-\($0)" }
        _ = try await store.writeInOneBatch(phones.map { try .make($0) })
        try await store.database.withTransaction { holder in
            _ = try await holder.execute(
                "SELECT FROM installation WHERE install_id <> 'phone-19' FOR UPDATE")
            let outcomes = try await store.writeInOneBatch([
                .make("phone-19", carrier: "new"), .make("phone-0", token: "next"),
            ])
            #expect(outcomes[0].status == .updated)
            #expect(throws: PostgresError.self) { try outcomes[1].get() }
            var blocked: [Task<RegistrationOutcome, any Error>] = []
            for (round, phone) in phones.enumerated() {
                blocked.append(Task { try await store.registerOnce(.make(phone, token: "next-\(round)")) })
                let created = try await store.registerTogether((0..<32).map { try .make("new-\(round)-\($0)") })
                #expect(created.allSatisfy { $0.status == .created }, "\(round)")
            }
            try await holder.commit()
            for task in blocked { #expect(try await task.value.status == .updated) }
        }
    }

    @Test func sameInstallation_waitsInLine_andOthersPassIt() async throws {
        _ = try await store.writeInOneBatch([.make("flooded"), .make("other")])
        try await store.database.withTransaction { holder in
            _ = try await holder.execute("SELECT FROM installation WHERE install_id = 'flooded' FOR UPDATE")
            async let flood = store.registerTogether((0..<100).map { try .make("flooded", carrier: "\($0)") })
            try await eventually { try await store.waitingSessions() > 0 }
            for number in 0..<20 {
                #expect(try await store.register(.make("other", carrier: "\(number)")).status == .updated)
            }
            try await holder.commit()
            #expect(try await flood.allSatisfy { $0.status != nil })
        }
    }
}

extension StoreUnderTest {
    /// Registers again, as a client does, when the wait for the locked row is over before the lock. A refused
    /// registration that was done would make the next one unchanged.
    fileprivate func registerOnce(_ registration: Registration) async throws -> RegistrationOutcome {
        while true {
            do { return try await register(registration) } catch StoreError.unavailable {}
        }
    }
}

@Suite("Many clients race for one token: one holder in the end, a complete history, and no client sees an error")
struct TokenRaceTests {
    private static let rounds = 10

    enum Race {
        /// New installations claim one token in each round.
        case new
        /// The same ones do.
        case known
        /// They exchange eight tokens.
        case swaps

        func registration(_ round: Int, _ number: Int) throws -> Registration {
            switch self {
            case .new: try .make("r\(round)-\(number)", token: "token-\(round)")
            case .known: try .make("phone-\(number)", token: "token-\(round)", user: "user-\(number % 5)")
            case .swaps: try .make("phone-\(number)", token: "token-\((number + round * 3) % 8)")
            }
        }
    }

    @Test(arguments: [(.new, 1), (.new, 4), (.known, 4), (.swaps, 3)] as [(Race, Int)])
    func tokens_haveOneHolder(race kind: Race, services: Int) async throws {
        try await withStores(services) { stores in
            if kind != .new { _ = try await race((0..<64).map { try .make("phone-\($0)") }, in: stores) }
            for round in 0..<Self.rounds {
                let outcomes = try await race((0..<64).map { try kind.registration(round, $0) }, in: stores)
                let expected: [RegistrationOutcome.Status] =
                    switch kind {
                    case .new: [.created]
                    case .known: [.updated]
                    case .swaps: [.updated, .unchanged]
                    }
                let other = outcomes.first { $0.status.map(expected.contains) != true }
                #expect(other == nil, "\(other!)")
            }
            try await stores[0].expectIntact()
        }
    }

    /// Spread over the services.
    private func race(_ registrations: [Registration], in stores: [StoreUnderTest]) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: [Outcome].self) { group in
            for (index, store) in stores.enumerated() {
                let part = registrations.enumerated().filter { $0.offset % stores.count == index }.map(\.element)
                group.addTask { try await store.registerTogether(part) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }
}

extension StoreUnderTest {
    /// Another service on the same database; the caller runs it.
    func another(named name: String) throws -> StoreUnderTest {
        let loop = EventLoop(name: name)
        let pool = PostgresClient(
            configuration, on: loop, limits: .init(connectionsMin: 1, connectionsMax: 4), logger: Logger(label: name))
        let resources = LoopResources(postgres: pool)
        return StoreUnderTest(
            resources: resources, coalescer: RegistrationCoalescer(resources), loop: loop, database: database,
            configuration: configuration)
    }
}
