import Crypto
import PushRegistry
import RegistryStore

/// An installation in the state after it registered and was seen again. The service's own rules compute the state, so
/// that the same body over HTTP changes nothing.
struct FleetRow {
    static let actor = "job:fleet"

    let registration: Registration
    let installation: Installation
    /// Of the body that the client sends.
    let digest: [UInt8]

    /// The installation's registration, as the service receives it.
    static func registration(_ installation: FleetInstallation, app: App) -> Registration {
        Registration(
            installation.request, of: app, by: RegistrationClaim(of: app, owner: installation.owner), actor: actor,
            sha256: sha256)
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    init(_ fleet: FleetInstallation, app: App, reading rules: SentRegistration.ReadingRules) {
        let registration = Self.registration(fleet, app: app)
        var locked = LockedInstallations([], now: fleet.times.createdAt, number: 1)
        _ = mustSucceed { () throws(RegistrationRefusal) in try locked.register(registration) }
        guard var installation = locked[registration.key] else {
            preconditionFailure("the registered installation is missing")
        }
        installation.lastSeenAt = fleet.times.lastSeenAt
        (self.registration, self.installation) = (registration, installation)
        digest = SentRegistration.digest(of: fleet.body(), by: fleet.owner, reading: rules, sha256: Self.sha256)
    }
}
