import Foundation
import RegistryTestSupport
import Testing

/// `PUSH_REGISTRY_TEST_RACE_ROUNDS` is the number of rounds of each race.
@Suite("No race for tokens ends in an error, with any number of event loops (R1, R4)", .serialized)
struct ManyRacesTests {
    private static let rounds =
        ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_RACE_ROUNDS"].flatMap { Int($0) } ?? 3
    private static let clients = 64
    private static let tokens = 8

    private enum Race: CaseIterable {
        /// All clients claim one token.
        case oneToken
        /// They exchange a few tokens.
        case swaps
        /// Some claim tokens, while others log out, rotate, report and erase their holders.
        case lives
    }

    @Test(arguments: [1, 2, 4]) func noRequestFails_andTheDataIsWhole(eventLoops: Int) async throws {
        try await withRegistry(eventLoops: eventLoops) { registry in
            let app = try await RegistryApp.make(in: registry)
            for race in Race.allCases {
                for round in 0..<Self.rounds {
                    let responses = try await EndToEndTests.race(Self.clients) { client in
                        try await app.registry.client.response(to: Self.request(of: client, round, race, app))
                    }
                    let expected = race == .lives ? [200, 201, 404] : [200, 201]
                    let failed = responses.filter { !expected.contains($0.status) }
                    #expect(failed.isEmpty, "\(race), round \(round): \(failed.prefix(3).map(\.text))")
                    if race == .oneToken {
                        #expect(try await app.holders(of: Self.token(round)).count == 1)
                    }
                }
            }
            try await registry.expectVerified()
        }
    }

    private static func token(_ number: Int) -> String { SampleRegistration.token("token-\(number)") }

    private static func request(
        of client: Int, _ round: Int, _ race: Race, _ app: RegistryApp
    ) -> HTTPRequest {
        switch race {
        // Half of the time, the installations are new.
        case .oneToken: claim(token(round), by: round.isMultiple(of: 2) ? client : client + 1_000 * round, app)
        case .swaps: claim(token((client + round) % tokens), by: client, app)
        case .lives: step(of: client, round, app)
        }
    }

    private static func step(of client: Int, _ round: Int, _ app: RegistryApp) -> HTTPRequest {
        let phone = (client + round) % 24
        let token = token((client / tokens + round) % tokens)
        switch client % 8 {
        case 4:
            return app.request("POST", "/installations/phone-\(phone)/logout", [:], by: .role(.service))
        case 5: return claim(SampleRegistration.token("own-\(phone)-\(round)"), by: phone, app)
        case 6:
            return app.request(
                "POST", "/feedback", [["token": .string(token), "provider": "apns", "reason": "Unregistered"]],
                by: .role(.sender))
        case 7: return app.request("DELETE", "/users/user-\(phone % 5)", by: .role(.service))
        default: return claim(token, by: phone, app)
        }
    }

    private static func claim(_ token: String, by phone: Int, _ app: RegistryApp) -> HTTPRequest {
        app.registration(
            "phone-\(phone)", SampleRegistration.make("phone-\(phone)", token: token), as: "user-\(phone % 5)")
    }
}
