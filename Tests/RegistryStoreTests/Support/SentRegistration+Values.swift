import PushRegistry

@testable import RegistryStore

extension SentRegistration {
    /// A registration that was never sent as bytes. Its digest is of its values.
    convenience init(_ registration: Registration) {
        let rest =
            "\(registration.token.provider), \(registration.keys, default: ""), \(registration.owner, default: "")"
        self.init(
            registration,
            digest: TestStores.sha256(registration.snapshotDigest + (registration.token.text + rest).utf8))
    }

    convenience init(_ registration: Registration, digest: [UInt8]) {
        self.init(
            on: registration.key, by: registration.claim, mayHaveTopics: !registration.topics.isEmpty, digest: digest,
            reading: { registration })
    }

    struct WasRead: Error {}

    /// Throws `WasRead` where it is read.
    static func unreadable(
        _ registration: Registration, _ digest: [UInt8], mayHaveTopics: Bool = false
    ) -> SentRegistration {
        SentRegistration(
            on: registration.key, by: registration.claim, mayHaveTopics: mayHaveTopics, digest: digest
        ) { throw WasRead() }
    }
}

extension InstallationStore {
    @discardableResult
    func register(_ registration: Registration) async throws -> RegistrationOutcome {
        try await register(SentRegistration(registration), ifDirectoryIs: nil)
    }
}

extension RegistrationCoalescer {
    func register(
        _ registration: Registration, ifDirectoryIs version: Int64? = nil
    ) async throws -> RegistrationOutcome {
        try await register(SentRegistration(registration), ifDirectoryIs: version)
    }
}

extension RegistrationLookUp {
    init(_ registration: Registration) {
        self.init(sent: SentRegistration(registration), directoryVersion: nil)
    }
}
