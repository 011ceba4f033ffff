import PushRegistry

/// One installation of a fleet.
public struct FleetInstallation: Hashable, Sendable {
    public let number: Int
    public let platform: Platform
    public let token: Token
    /// Present exactly for Web Push.
    public let keys: WebPushKeys?
    public let settings: NotificationSettings
    let sent: SentDevice
    /// As the service keeps it.
    public let device: Device
    /// Whom the app's back end names as its user.
    public let owner: Owner?
    public let times: Times

    public var installID: InstallID { device.installID }

    /// What the service makes of ``body(settings:)``.
    public var request: RegistrationRequest {
        RegistrationRequest(token: token, keys: keys, snapshot: Snapshot(settings: settings, device: device))
    }

    /// When the installation came and when it was last seen.
    public struct Times: Hashable, Sendable {
        public let createdAt: Timestamp
        public let lastSeenAt: Timestamp
    }
}

/// How long the installations of a fleet have not been seen.
public enum Silence: Hashable, Sendable {
    /// Up to four months, as an app finds it that cleaned up never; an estimate.
    case spread
    /// At most so many seconds: below the touch interval, a registration that is sent again changes nothing at all.
    case seconds(Int)

    /// Hours, and the percentage of installations that were last seen so many ago.
    private static let spreadHours = WeightedChoice<Range<Int>>([
        (0..<24, 52), (24..<168, 22), (168..<720, 13), (720..<1_440, 7), (1_440..<2_880, 6),
    ])

    func seconds(_ random: inout FleetRandom) -> Int {
        switch self {
        case .seconds(let most): return random.below(max(1, most))
        case .spread:
            let hours = Self.spreadHours.pick(&random)
            return hours.lowerBound * 3_600 + random.below(hours.count * 3_600)
        }
    }
}

extension FleetInstallation.Times {
    /// Up to three years before they were last seen; younger ones are more common.
    static func make(_ asOf: Timestamp, _ silence: Silence, _ random: inout FleetRandom) -> FleetInstallation.Times {
        let lastSeen = asOf.wholeSeconds - Int64(silence.seconds(&random))
        let (first, second) = (random.fraction(), random.fraction())
        let age = Int64(first * second * 3 * 365 * 86_400)
        // Whole microseconds apart, as generations begin by them.
        let microsecond = Int64(random.below(1_000_000))
        return .init(
            createdAt: Timestamp(microseconds: (lastSeen - age) * 1_000_000 - microsecond),
            lastSeenAt: Timestamp(microseconds: lastSeen * 1_000_000))
    }
}
