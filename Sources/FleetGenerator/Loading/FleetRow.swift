import Crypto
import PushRegistry
import RegistryStore

/// An installation as the service leaves it after it registered and was seen again: the rules themselves and the store's
/// own digest make it, so that the same body over HTTP finds nothing new.
struct FleetRow {
    let row: InstallationRow
    let events: [TokenEvent]

    /// What the service is asked when the installation registers.
    static func registration(_ installation: FleetInstallation, app: App) -> Registration {
        Registration(
            installation.request, of: app, owner: installation.owner, precondition: nil, actor: "job:fleet",
            sha256: { Array(SHA256.hash(data: $0)) })
    }

    init(_ fleet: FleetInstallation, app: App) {
        let registration = Self.registration(fleet, app: app)
        var locked = LockedInstallations([], now: fleet.times.createdAt)
        _ = made { () throws(RegistrationRefusal) in try locked.register(registration) }
        guard var installation = locked[registration.key] else { preconditionFailure("registered and not there") }
        installation.lastSeenAt = fleet.times.lastSeenAt
        row = InstallationRow(
            installation: installation, token: registration.token,
            registrationDigest: RegistrationDigest.make(registration), snapshot: registration.snapshot)
        events = locked.events
    }
}
