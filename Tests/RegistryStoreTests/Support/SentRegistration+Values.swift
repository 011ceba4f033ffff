import Crypto
import PushRegistry

@testable import RegistryStore

extension SentRegistration {
    /// A registration that was never sent as bytes. Its digest is of its values.
    convenience init(_ registration: Registration) {
        var bytes = CanonicalBytes(version: 1)
        bytes.append(registration.token.provider.rawValue)
        bytes.append(registration.tokenSHA256)
        bytes.append(registration.keys?.p256dh)
        bytes.append(registration.keys?.auth)
        bytes.append(registration.owner?.userID.rawValue)
        bytes.append(registration.owner?.session?.id.rawValue)
        bytes.append(registration.owner?.session?.expiresAt?.microseconds ?? -1)
        bytes.append(registration.snapshotDigest)
        self.init(registration, digest: TestStores.sha256(bytes.bytes))
    }

    convenience init(_ registration: Registration, digest: [UInt8]) {
        self.init(
            registration.token, on: registration.key, by: registration.claim,
            hasTopics: !registration.topics.isEmpty, digest: digest, sha256: TestStores.sha256,
            reading: { registration })
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

extension RegistrationLookUp.Item {
    init(_ registration: Registration) {
        self.init(sent: SentRegistration(registration), directoryVersion: nil)
    }
}
