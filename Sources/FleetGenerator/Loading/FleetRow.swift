import Crypto
import PushRegistry
import RegistryStore

/// An installation as the service leaves it after it registered and was seen again: the rules themselves make it, so
/// that the same body over HTTP finds nothing new.
struct FleetRow {
    static let actor = "job:fleet"

    let registration: Registration
    let installation: Installation

    /// What the service is asked when the installation registers.
    static func registration(_ installation: FleetInstallation, app: App) -> Registration {
        Registration(
            installation.request, of: app, owner: installation.owner, precondition: nil, actor: actor,
            sha256: { Array(SHA256.hash(data: $0)) })
    }

    init(_ fleet: FleetInstallation, app: App) {
        let registration = Self.registration(fleet, app: app)
        var locked = LockedInstallations([], now: fleet.times.createdAt)
        _ = made { () throws(RegistrationRefusal) in try locked.register(registration) }
        guard var installation = locked[registration.key] else { preconditionFailure("registered and not there") }
        installation.lastSeenAt = fleet.times.lastSeenAt
        (self.registration, self.installation) = (registration, installation)
    }
}
