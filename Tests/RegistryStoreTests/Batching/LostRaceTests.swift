import PushRegistry
import RegistryTestSupport
import Testing

@testable import PostgresClient
@testable import RegistryStore

@Suite("Only an error that another transaction caused is a lost race")
struct LostRaceErrorTests {
    /// The last two are of servers whose messages are German. Only Citus has a function `ReportCopyError`.
    private static let races = [
        PostgresError.ServerFields(sqlState: "23505", constraint: "token_holder_pkey", function: "_bt_check_unique"),
        .init(sqlState: "40P01", message: "deadlock detected", function: "DeadLockReport"),
        .init(sqlState: "40001", message: "could not serialize access due to concurrent update"),
        .init(sqlState: "22012", message: "division by zero", function: "int4div"),
        .init(
            sqlState: "XX000",
            message: "duplicate key value violates unique constraint \"token_holder_pkey_102008\"",
            function: "ReportCopyError"),
        .init(
            sqlState: "XX000",
            message: "doppelter Schlüsselwert verletzt Unique-Constraint „token_holder_pkey_102008“",
            function: "ReportCopyError"),
        .init(sqlState: "40P01", message: "Verklemmung (Deadlock) entdeckt", function: "DeadLockReport"),
    ]

    private static let others = [
        PostgresError.ServerFields(
            sqlState: "XX000", message: "could not read block 7 in file \"base/5/2619\": read only 0 of 8192 bytes",
            function: "mdread"),
        .init(sqlState: "XX000", message: "duplicate key value violates unique constraint", function: "elog"),
        .init(sqlState: "XX001", message: "invalid page in block 7 of relation base/5/2619"),
        .init(sqlState: "23502", message: "null value in column", column: "k", function: "ReportCopyError"),
        .init(sqlState: "55P03", message: "canceling statement due to lock timeout"),
        .init(sqlState: "08006", message: "connection to the remote node failed"),
    ]

    @Test(arguments: Self.races.indices)
    func error_isALostRace(index: Int) {
        #expect(PostgresError(Self.races[index]).isLostRace)
    }

    @Test(arguments: Self.others.indices)
    func error_isNoLostRace(index: Int) {
        #expect(!PostgresError(Self.others[index]).isLostRace)
    }

    @Test func lostRace_isOne_andErrorsOfOtherKindsAreNot() {
        #expect(LostRace().isLostRace && !StoreError.overloaded.isLostRace)
    }
}

@Suite("What waits is bounded and refused clearly", .store)
struct OverloadTests {
    private let store = StoreUnderTest.lent!

    @Test func register_isRefusedAsOverloaded_whenTheQueueIsFull() async throws {
        _ = try await store.register(.make("phone", user: "old"))
        let registration = try Registration.make("phone", user: "new")
        try await store.database.withTransaction { transaction in
            _ = try await transaction.execute("SELECT 1 FROM installation FOR UPDATE")
            let coalescer = RegistrationCoalescer(store.resources)
            let running = Task { await coalescer.run() }
            // Both queues full, and as many again as a look-up and the writers may hold.
            let errors = await withTaskGroup(of: StoreError?.self) { group in
                for _ in 0..<(2 * ReadCoalescer<RegistrationLookUp>.waitingMax + 2_048) {
                    group.addTask { await coalescer.error(of: registration) }
                }
                let first = await group.next()
                running.cancel()
                _ = try? await transaction.commit()
                return await group.reduce(into: [first ?? nil]) { $0.append($1) }
            }
            #expect(errors.first == .overloaded)
            #expect(errors.allSatisfy { $0 == nil || $0 == .overloaded || $0 == .unavailable })
            await running.value
        }
    }

    @Test func register_isUnavailable_onceTheCoalescerHasEnded() async throws {
        let ended = RegistrationCoalescer(store.resources)
        let task = Task { await ended.run() }
        task.cancel()
        await task.value
        await #expect(throws: StoreError.unavailable) { try await ended.register(.make("phone")) }
    }
}

extension StoreUnderTest {
    func waitingSessions() async throws -> Int64 {
        try await count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    }
}

extension RegistrationCoalescer {
    fileprivate func error(of registration: Registration) async -> StoreError? {
        do {
            _ = try await register(registration)
            return nil
        } catch {
            return error as? StoreError
        }
    }
}
