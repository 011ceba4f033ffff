import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("R2: a registration is read only if its bytes differ from the last ones")
struct RepeatedBytesTests {
    private static let bytes: [UInt8] = Array(repeating: 1, count: 16)
    private static let otherBytes: [UInt8] = Array(repeating: 2, count: 16)

    private struct WasRead: Error {}

    @Test func repeatedBytes_areNotRead() async throws {
        try await withStore { store in
            let registration = try Registration.make("phone", user: "alice", session: "s")
            _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            let outcome = try await store.coalescer.register(unreadable(registration, Self.bytes))
            #expect(outcome.status == .unchanged && outcome.userID == registration.owner?.userID)
            await #expect(throws: WasRead.self) {
                try await store.coalescer.register(unreadable(registration, Self.otherBytes))
            }
        }
    }

    /// Choices may have changed since; the digest does not say so.
    @Test func repeatedBytes_areRead_ifTheyNameTopics() async throws {
        try await withStore { store in
            let registration = try Registration.make("phone")
            _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            await #expect(throws: WasRead.self) {
                try await store.coalescer.register(unreadable(registration, Self.bytes, mayHaveTopics: true))
            }
        }
    }

    @Test func repeatedBytes_areRead_onceTheBindingHasChanged() async throws {
        try await withStore { store in
            let registration = try Registration.make("phone", token: "t")
            _ = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            _ = try await store.register(.make("thief", token: "t"))
            await #expect(throws: WasRead.self) {
                try await store.coalescer.register(unreadable(registration, Self.bytes))
            }
            let back = try await store.coalescer.register(SentRegistration(registration, digest: Self.bytes))
            #expect(back.status == .updated)
        }
    }

    @Test(arguments: ["same", "snapshot", "keys", "expiry"])
    func otherBytes_areUnchanged_onlyIfAllValuesAreTheSame(changing value: String) async throws {
        try await withStore { store in
            _ = try await store.coalescer.register(SentRegistration(webPush(""), digest: Self.bytes))
            let outcome = try await store.coalescer.register(SentRegistration(webPush(value), digest: Self.otherBytes))
            #expect(outcome.status == (value == "same" ? .unchanged : .updated))
            #expect(outcome.generation == (try await store.generation(of: "phone")))
        }
    }

    private func unreadable(
        _ registration: Registration, _ digest: [UInt8], mayHaveTopics: Bool = false
    ) -> SentRegistration {
        SentRegistration(
            on: registration.key, by: registration.claim, mayHaveTopics: mayHaveTopics, digest: digest
        ) { throw WasRead() }
    }

    private func webPush(_ change: String) throws -> Registration {
        let app = App(number: AppNumber(1), id: try AppID("com.example.mail"), policy: .standard)
        let device = Device(
            installID: try InstallID("phone"), deviceModel: "Firefox", systemName: "Linux", systemVersion: "6.1",
            locale: LocaleIdentifier("de_DE"), timeZoneID: "Europe/Berlin", timeZoneOffset: 3600,
            carrier: change == "snapshot" ? "another" : nil)
        let keys = try WebPushKeys(
            p256dh: "B" + String(repeating: "A", count: 86),
            auth: String(repeating: change == "keys" ? "Q" : "A", count: 22))
        let expiresAt = Timestamp(microseconds: change == "expiry" ? 4_000_000_000_000_000 : 3_900_000_000_000_000)
        let owner = Owner(
            userID: try UserID("alice"), session: Owner.Session(id: try SessionID("s"), expiresAt: expiresAt))
        return Registration(
            RegistrationRequest(
                token: try Token("https://push.example.com/1", of: .webPush), keys: keys,
                snapshot: Snapshot(settings: NotificationSettings(), device: device)),
            of: app, by: RegistrationClaim(of: app, owner: owner), actor: "service:test", sha256: TestStores.sha256)
    }
}

extension StoreUnderTest {
    fileprivate func generation(of installID: String) async throws -> Int64 {
        try await database.execute(
            "SELECT generation FROM installation WHERE install_id = \(installID)")[0].decode(0)
    }
}
