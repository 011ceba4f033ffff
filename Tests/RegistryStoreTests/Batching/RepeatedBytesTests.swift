import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("R2: a registration is read only if its bytes differ from the last ones", .store)
struct RepeatedBytesTests {
    private let store = StoreUnderTest.lent!

    private static let bytes: [UInt8] = Array(repeating: 1, count: 16)
    private static let otherBytes: [UInt8] = Array(repeating: 2, count: 16)

    @Test func repeatedBytes_areNotRead() async throws {
        let registration = try Registration.make("phone", user: "alice", session: "s")
        _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
        let outcome = try await store.coalescer.register(.unreadable(registration, Self.bytes))
        #expect(outcome.status == .unchanged && outcome.userID == registration.owner?.userID)
        await #expect(throws: SentRegistration.WasRead.self) {
            try await store.coalescer.register(.unreadable(registration, Self.otherBytes))
        }
    }

    /// Choices may have changed since; the digest does not say so.
    @Test func repeatedBytes_areRead_ifTheyNameTopics() async throws {
        let registration = try Registration.make("phone")
        _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
        await #expect(throws: SentRegistration.WasRead.self) {
            try await store.coalescer.register(.unreadable(registration, Self.bytes, mayHaveTopics: true))
        }
    }

    @Test func repeatedBytes_areRead_onceTheBindingHasChanged() async throws {
        let registration = try Registration.make("phone", token: "t")
        _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
        _ = try await store.register(.make("thief", token: "t"))
        await #expect(throws: SentRegistration.WasRead.self) {
            try await store.coalescer.register(.unreadable(registration, Self.bytes))
        }
        let back = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
        #expect(back.status == .updated)
    }
}
