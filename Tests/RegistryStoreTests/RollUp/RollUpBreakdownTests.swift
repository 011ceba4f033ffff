import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("A breakdown of the roll-up is that of the installations", .timeLimit(.minutes(30)), .stores)
struct RollUpBreakdownTests {
    private let stores = TestStores.lent!

    @Test func largestGroups_areRight_whenFoldedOnesShrinkAndNewOnesCome() async throws {
        let audiences = stores.audiences
        for number in 10..<40 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.change("UPDATE installation SET settings = settings & ~15 | 2")
        try await stores.change("UPDATE installation SET locale = 'fr_FR' WHERE install_id < 'i20'")
        try await stores.fold()
        // The largest one vanishes, the other becomes smaller than two that no cell knows.
        try await stores.change("UPDATE installation SET locale = 'it_IT' WHERE install_id >= 'i20'")
        try await stores.change(
            "UPDATE installation SET system_version = '99.0' WHERE install_id BETWEEN 'i12' AND 'i19'")
        for include in AudienceInclude.allCases {
            let audience = Audience(app: stores.app.number, filter: .everybody, include: include)
            let result = try await audiences.breakDown(
                audience, by: [.locale, .osVersion], limit: 2, explains: false)
            #expect(result.groups.map(\.values) == [["it_IT", "26.5"], ["fr_FR", "99.0"]])
            #expect(result.groups.map(\.count) == [20, 8] && result.total == 30 && result.restGroups == 1)
        }
    }
}
