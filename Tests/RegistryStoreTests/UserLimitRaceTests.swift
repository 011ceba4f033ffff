import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("No race leaves a user with more active installations than the policy allows")
struct UserLimitRaceTests {
    private static let limit = 3

    /// Phones of their own, of few users: in the end each user has just as many as the limit allows.
    @Test(arguments: [1, 2, 4]) func phones_ofFewUsers_throughSeveralServices(services count: Int) async throws {
        try await withStores(count) { services in
            try await watching(services[0]) {
                try await atOnce(0..<48) { client in
                    var dice = SeededGenerator(seed: UInt64(client))
                    for _ in 0..<12 {
                        let user = "user-\(client % 4)"
                        let phone = "phone-\(client % 4)-\(dice.below(20))"
                        _ = try await services[dice.below(count)].register(
                            .make(phone, user: user, installationsMax: Self.limit))
                    }
                }
            }
            let counts = try await services[0].strings(
                "SELECT count(*)::text FROM installation WHERE state = 'active' GROUP BY user_id ORDER BY user_id")
            #expect(counts == Array(repeating: "\(Self.limit)", count: 4))
            let superseded = try await services[0].count("SELECT count(*) FROM token_event WHERE reason = 'limit'")
            #expect(superseded > 0)
            try await services[0].expectIntact()
        }
    }

    /// The policy has got the limit late.
    @Test func oneRegistration_supersedesAThousand_atMost() async throws {
        try await withStores(1) { services in
            try await atOnce(0..<1_010) { phone in
                _ = try await services[0].register(.make("phone-\(phone)", user: "alice"))
            }
            for (phone, superseded) in [("one", 1_000), ("two", 1_010), ("three", 1_011)] {
                _ = try await services[0].register(.make(phone, user: "alice", installationsMax: 2))
                let count = try await services[0].count("SELECT count(*) FROM token_event WHERE reason = 'limit'")
                #expect(count == superseded)
            }
        }
    }

    /// Phones change hands, tokens move between them, and typed tokens beside them.
    @Test(arguments: [1, 3]) func phonesAndTokens_thatMoveBetweenUsers(services count: Int) async throws {
        try await withStores(count) { services in
            try await watching(services[0]) {
                try await atOnce(0..<32) { client in
                    var dice = SeededGenerator(seed: 100 + UInt64(client))
                    for _ in 0..<12 {
                        let phone = "phone-\(dice.below(16))"
                        let token = dice.isTrue(0.4) ? "shared-token-\(dice.below(6))" : "token-of-\(phone)"
                        let typed =
                            dice.isTrue(0.3)
                            ? [try SentTypedToken.make(.voip, "voip-\(dice.below(6))")] : nil
                        let registration = try Registration.make(
                            phone, token: token, user: dice.isTrue(0.9) ? "user-\(dice.below(3))" : nil,
                            session: dice.isTrue(0.5) ? "session-\(dice.below(9))" : nil, provider: .apns,
                            tokens: typed, installationsMax: Self.limit)
                        do {
                            _ = try await services[dice.below(count)].register(registration)
                        } catch RegistrationRefusal.sessionEnded {}
                    }
                }
            }
            try await services[0].expectIntact()
        }
    }

    /// Looks at the database all the time: every transaction that has ended keeps the limit.
    private func watching(
        _ store: StoreUnderTest, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        let isDone = Flag()
        async let crowded = crowded(store, until: isDone)
        do {
            try await body()
        } catch {
            isDone.set()
            throw error
        }
        isDone.set()
        #expect(try await crowded.isEmpty)
    }

    private func crowded(_ store: StoreUnderTest, until isDone: Flag) async throws -> [String] {
        while true {
            let wasDone = isDone.isSet
            let found = try await store.database.execute(
                """
                SELECT user_id || ' ' || count(*) FROM installation WHERE state = 'active' AND user_id IS NOT NULL
                GROUP BY user_id HAVING count(*) > \(Int64(Self.limit))
                """
            ).map { try $0.decode(0, as: String.self) }
            if wasDone || !found.isEmpty { return found }
        }
    }
}
