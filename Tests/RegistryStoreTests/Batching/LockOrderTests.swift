import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Transactions lock rows in the order of their keys, so that none waits for another in a circle")
struct LockOrderTests {
    /// While another transaction has the first token, the statement waits for it and has locked no later one.
    @Test func tokensOfInstallations_areLockedInTheOrderOfTheirKeys() async throws {
        try await withStore { store in
            let names = ["a", "b", "c", "d"]
            for name in names { _ = try await store.register(.make(name)) }
            let lock = HolderStatements.lock(of: try names.map { try InstallID($0) }, in: AppNumber(1))
            try await store.database.holding(
                "SELECT FROM token_holder ORDER BY provider, token_sha256 LIMIT 1 FOR UPDATE"
            ) {
                _ = try await store.database.withTransaction { try await $0.execute([lock]) }
            } meanwhile: { _ in
                let free = try await store.database.execute("SELECT FROM token_holder FOR UPDATE SKIP LOCKED")
                #expect(free.count == names.count - 1)
            }
        }
    }
}
