import Locking
import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("New installations that are created in one trip, also with another installation's token")
struct CreationTests {
    /// What a registration may find: a holder of the token `t`, and others.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let before: [@Sendable () throws -> Registration]
        let new: [@Sendable () throws -> Registration]
    }

    private static let cases = [
        Case(testDescription: "no holder", before: [], new: [{ try .make("new", token: "t", user: "bob") }]),
        Case(
            testDescription: "no users", before: [{ try .make("old", token: "t") }],
            new: [{ try .make("new", token: "t") }]),
        Case(
            testDescription: "another user",
            before: [{ try .make("old", token: "t", user: "alice", session: "a") }],
            new: [{ try .make("new", token: "t", user: "bob", session: "b") }]),
        Case(
            testDescription: "the same session, the holder's device",
            before: [{ try .make("old", token: "t", user: "alice", session: "a", keychain: "k") }],
            new: [{ try .make("new", token: "t", user: "alice", session: "a", keychain: "k") }]),
        Case(
            testDescription: "several, and one whose token is new",
            before: [
                { try .make("old", token: "t", user: "alice") }, { try .make("older", token: "u", carrier: "c") },
            ],
            new: [
                { try .make("new", token: "u", user: "bob") }, { try .make("newer", token: "t") },
                { try .make("other", user: "bob", session: "b") },
            ]),
    ]

    /// The rules of `LockedInstallations` say what is written; the statements in one trip must write the same.
    @Test(arguments: cases)
    func creation_writesWhatTheRulesDecide(_ test: Case) async throws {
        let inOneTrip = Locked<[String]>([])
        try await withStore { store in
            for registration in test.before { _ = try await store.register(registration()) }
            let batch = try await store.find(test.new.map { try $0() })
            for pending in batch {
                switch pending.finding {
                case .absent, .claimed: break
                default: Issue.record("found as \(pending.finding)")
                }
            }
            let outcomes = try await store.writeInOneTrip(batch)
            #expect(outcomes.count == batch.count && outcomes.values.allSatisfy { $0.status == .created })
            try await store.expectCompleteHistory()
            let rows = try await store.contents()
            inOneTrip.withLock { $0 = rows }
        }
        try await withStore { store in
            for registration in test.before { _ = try await store.register(registration()) }
            let batch = try await store.find(test.new.map { try $0() })
            _ = try await store.writeUnderLocks(batch)
            #expect(try await store.contents() == inOneTrip.withLock { $0 })
        }
    }

    /// Another session makes a change, and commits while a takeover of the token `t` from `old` waits for it.
    ///
    /// - Returns: how many installations the takeover has created; nil if it was rolled back as a lost race.
    private func takeOver(beside change: PostgresStatement, in store: StoreUnderTest) async throws -> Int? {
        let batch = try await store.find([.make("new", token: "t")])
        let numbers = try await store.resources.cells.numbers(of: batch.map(\.registration), store.pool, .batch)
        return try await store.database.withTransaction { transaction in
            _ = try await transaction.execute(change)
            async let outcomes = OptimisticRegistrations(batch, cells: numbers).write(store.database)
            try await eventually { try await store.waitingSessions() > 0 }
            try await transaction.commit()
            do {
                return try await outcomes.count
            } catch let error where error.isLostRace {
                return nil
            }
        }
    }

    @Test func takeover_isRolledBack_whenTheHolderChangesMeanwhile() async throws {
        try await withStore { store in
            _ = try await store.register(.make("old", token: "t"))
            let created = try await takeOver(beside: "UPDATE installation SET revision = revision + 1", in: store)
            #expect(created == nil)
            #expect(try await store.holders() == ["old t"])
            #expect(try await store.count("SELECT count(*) FROM token_holder WHERE install_id = 'old'") == 1)
        }
    }

    @Test func takeover_isNotWritten_whenTheTokenMovesMeanwhile() async throws {
        try await withStore { store in
            _ = try await store.register(.make("old", token: "t"))
            let created = try await takeOver(beside: "UPDATE token_holder SET install_id = 'rival'", in: store)
            #expect(created == 0)
            #expect(try await store.holders() == ["old t"])
        }
    }

    /// Fine print 65: what waits for the former owner is deleted. The takeover does not see a counter that is added
    /// after it began.
    @Test func takeover_isRolledBack_whenTheHolderGetsItsFirstNotificationMeanwhile() async throws {
        try await withStore { store in
            let epoch = try await store.register(.make("old", token: "t")).epoch
            let post = PostgresStatement(NotificationStatements.holdEpochs, Int32(1), ["old"], [epoch])
            #expect(try await takeOver(beside: post, in: store) == nil)
            #expect(try await store.holders() == ["old t"])
        }
    }

    @Test func notificationsOfTheFormerHolder_areDeleted() async throws {
        try await withStore { store in
            _ = try await store.register(.make("old", token: "t"))
            _ = try await store.database.execute(
                "INSERT INTO notification_counter SELECT app_id, install_id, epoch, 1, 0, 0 FROM installation")
            let outcomes = try await store.writeInOneBatch([.make("new", token: "t"), .make("other")])
            #expect(outcomes.map(\.status) == [.created, .created])
            #expect(try await store.count("SELECT count(*) FROM notification_counter") == 0)
            #expect(try await store.holders() == ["new t", "other token-of-other"])
        }
    }

    /// Choices of an installation without a user end with its token.
    @Test func topicChoicesOfTheFormerHolder_areDeleted() async throws {
        try await withStore { store in
            _ = try await store.register(.make("old", token: "t"))
            _ = try await store.database.execute("UPDATE installation SET topics = '{1}', topic_choices = '{1}'")
            let outcomes = try await store.writeInOneBatch([.make("new", token: "t"), .make("other")])
            #expect(outcomes.map(\.status) == [.created, .created])
            #expect(try await store.count("SELECT count(*) FROM installation WHERE topic_choices IS NOT NULL") == 0)
        }
    }

    /// R5: a third installation of the device is probably replaced.
    @Test func takeover_marksTheDevicesOtherInstallation_asReplaced() async throws {
        try await withStore { store in
            _ = try await store.register(.make("third", token: "u", keychain: "k"))
            _ = try await store.register(.make("old", token: "t", keychain: "k"))
            _ = try await store.database.execute("UPDATE installation SET probably_replaced_by = NULL")
            _ = try await store.writeInOneBatch([.make("new", token: "t", keychain: "k")])
            let replaced = try await store.strings(
                "SELECT install_id || ' ' || probably_replaced_by FROM installation WHERE probably_replaced_by <> ''")
            #expect(replaced == ["third new"])
        }
    }

    @Test func takeover_isRefused_whenItsSessionHasEnded() async throws {
        try await withStore { store in
            _ = try await store.register(.make("old", token: "t", user: "alice", session: "a"))
            _ = try await store.database.execute(
                "UPDATE session SET ended_at = clock_timestamp() WHERE session_id = 'a'")
            let outcomes = try await store.writeInOneBatch([
                .make("new", token: "t", user: "alice", session: "a"), .make("other"),
            ])
            guard case .failure(RegistrationRefusal.sessionEnded) = outcomes[0] else {
                return #expect(Bool(false), "\(outcomes[0])")
            }
            #expect(outcomes[1].status == .created)
            #expect(try await store.holders() == ["old t", "other token-of-other"])
        }
    }

    @Test func token_isTakenByOne_whenTwoOfABatchClaimIt() async throws {
        try await withStore { store in
            _ = try await store.register(.make("old", token: "t"))
            let outcomes = try await store.writeInOneBatch([.make("new", token: "t"), .make("newer", token: "t")])
            #expect(outcomes.map(\.status) == [.created, .created])
            #expect(try await store.holders() == ["newer t"])
            try await store.expectCompleteHistory()
        }
    }
}
