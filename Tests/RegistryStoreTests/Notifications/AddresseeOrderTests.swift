import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("A post lists a user's installations in the order of their ids (fine print 60)", .stores)
struct AddresseeOrderTests {
    private let stores = TestStores.lent!

    @Test(arguments: ["enable_nestloop", "enable_hashjoin", "enable_seqscan"])
    func installations_areInTheirOrder_inAnyPlan(setting: String) async throws {
        for number in (0..<40).reversed() {
            let token = String(repeating: "0\(number % 10)1\(number / 10)", count: 16)
            _ = try await stores.register("phone-\(number)", token: token, as: "alice")
        }
        let app = stores.app.number.rawValue
        let found = try await PostgresSession.withSession(stores.configuration) { session in
            try session.run(script: "ANALYZE; SET \(setting) = off")
            return try session.execute(
                PostgresStatement(NotificationStatements.ofUsers, app, ["alice"], Int64(100))
            ).map { try $0.decode(1, as: String.self) }
        }
        #expect(found.count == 40 && found == found.sorted())
    }
}
