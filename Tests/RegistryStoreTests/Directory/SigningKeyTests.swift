import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

/// Signing keys come with their app, are replaced in time, and stay while something that they signed is valid.
@Suite(.stores) struct SigningKeyTests {
    private let stores = TestStores.lent!

    @Test func newApp_hasOneKey_ofItsOwn() async throws {
        let directory = PostgresAppDirectory(postgres: stores.postgres)
        async let _ = directory.run()
        try await directory.put(AppID("com.example.other"), policy: .standard)
        let keys = try await directory.current().apps.values.map(\.signingKeys)
        #expect(keys.map { $0.map(\.number) } == [[1], [1]])
        #expect(keys.allSatisfy { $0.allSatisfy { $0.key.count == 32 } })
        #expect(Set(keys.joined().map(\.key)).count == 2)
        #expect(keys.joined().allSatisfy { "\($0)" == "‹token›" })
    }

    @Test func key_isReplacedAfterThirtyDays_andDeletedOnceNothingSignedByItIsValid() async throws {
        let rotation = SigningKeyRotation(postgres: stores.postgres)
        let directory = PostgresAppDirectory(postgres: stores.postgres)
        async let _ = directory.run()
        let first = try #require(try await keys(of: stores.app, in: directory).first)
        let (replaced, deleted) = (
            first.createdAt.advanced(by: SigningKeyRotation.signing),
            first.createdAt.advanced(by: SigningKeyRotation.signing).advanced(by: SigningKeyRotation.verifying)
        )
        let version = try await directory.current().version
        try await rotation.rotate(at: Timestamp(microseconds: replaced.microseconds - 1))
        #expect(try await directory.current().version == version)

        // Several services at once create one key.
        try await atOnce(0..<8) { _ in try await rotation.rotate(at: replaced) }
        #expect(try await keys(of: stores.app, in: directory).map(\.number) == [1, 2])

        try await rotation.rotate(at: Timestamp(microseconds: deleted.microseconds - 1))
        #expect(try await keys(of: stores.app, in: directory).map(\.number) == [1, 2, 3])
        try await rotation.rotate(at: deleted)
        #expect(try await keys(of: stores.app, in: directory).map(\.number) == [2, 3])
    }

    private func keys(of app: App, in directory: PostgresAppDirectory) async throws -> [AppSigningKey] {
        try #require(try await directory.current().apps[app.id]).signingKeys
    }
}
