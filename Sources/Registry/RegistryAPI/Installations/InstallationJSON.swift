import PushRegistry
import StrictJSON

/// The members of a record that a caller may see (R14).
struct RecordAudience {
    let showsToken: Bool
    let showsTypedTokens: Bool
    let showsReplacement: Bool
    let explainsReachability: Bool

    init(_ caller: Caller) {
        showsToken = caller.has(any: [.service, .sender])
        showsTypedTokens = caller.has(any: [.service, .sender, .support])
        showsReplacement = caller.isService
        explainsReachability = caller.readsAllUsers
    }
}

extension JSONWriter {
    mutating func installation(_ record: InstallationRecord, showing audience: RecordAudience) {
        let installation = record.installation
        object { writer in
            writer.member("installId", installation.key.installID.rawValue)
            writer.member("provider", installation.provider.rawValue)
            if audience.showsToken { writer.address(record) }
            if audience.showsTypedTokens { writer.typedTokens(record.tokens, showingText: audience.showsToken) }
            writer.member("userId", installation.owner?.userID.rawValue)
            writer.member("sessionId", installation.owner?.session?.id.rawValue)
            writer.member("sessionExpiresAt", installation.owner?.session?.expiresAt?.description)
            writer.member("state", installation.state.rawValue)
            writer.member("reachable", record.isReachable)
            if audience.explainsReachability {
                writer.member("unreachableBecause", record.unreachableBecause.map(\.code))
            }
            writer.member("authorizationAssumed", record.snapshot.settings.authorizationAssumed)
            writer.member("generation", installation.generation)
            writer.member("createdAt", installation.createdAt.description)
            writer.member("registeredAt", installation.registeredAt.description)
            writer.member("lastSeenAt", installation.lastSeenAt.description)
            if audience.showsReplacement {
                writer.member("probablyReplacedBy", installation.probablyReplacedBy?.rawValue)
            }
            writer.snapshot(record.snapshot)
        }
    }

    /// The token and, for Web Push, its keys.
    private mutating func address(_ record: InstallationRecord) {
        member("token", record.token?.text)
        member("addressKind", record.token?.addressKind.rawValue)
        member(record.installation.keys)
    }

    /// The members `settings` and `device`, in the form of a registration.
    mutating func snapshot(_ snapshot: Snapshot) {
        name("settings")
        settings(snapshot.settings)
        name("device")
        device(snapshot.device)
    }

    private mutating func settings(_ settings: NotificationSettings) {
        object { writer in
            var settings = settings
            var members = SettingsWriter()
            // A copy of the writer would copy its buffer.
            swap(&members.writer, &writer)
            settings.visitAll(&members)
            swap(&members.writer, &writer)
        }
    }

    private mutating func device(_ device: Device) {
        object { writer in
            writer.member("installId", device.installID.rawValue)
            writer.member("keychainId", device.keychainID)
            writer.member("vendorId", device.vendorID)
            writer.member("advertisingId", device.advertisingID)
            writer.member("appVersion", device.appVersion)
            writer.member("deviceModel", device.deviceModel)
            writer.member("systemName", device.systemName)
            writer.member("systemVersion", device.systemVersion)
            writer.member("locale", device.locale.text)
            writer.member("language", device.language)
            writer.member("languages", device.languages)
            writer.member("region", device.region)
            writer.member("timeZoneId", device.zoneName)
            writer.member("timeZoneOffset", device.zoneOffset)
            writer.member("carrier", device.carrier)
            writer.member("appStore", device.appStore)
            writer.location(device.location)
        }
    }

    private mutating func location(_ location: Location?) {
        name("location")
        guard let location else { return null() }
        object { writer in
            writer.member("latitude", location.latitude)
            writer.member("longitude", location.longitude)
        }
    }
}

/// Writes each setting as a member of its name.
private struct SettingsWriter: NotificationSettingsVisitor {
    var writer = JSONWriter(capacity: 0)

    mutating func visit<Setting: OpenSetting>(_ name: StaticString, _ setting: inout Setting) {
        writer.member(name, setting.rawValue)
    }

    mutating func visit(_ name: StaticString, _ flag: inout Bool?) {
        writer.member(name, flag)
    }
}
