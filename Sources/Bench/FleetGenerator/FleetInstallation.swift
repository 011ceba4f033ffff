import PushRegistry

/// One installation of a fleet.
public struct FleetInstallation: Hashable, Sendable {
    public let number: Int
    public let platform: Platform
    public let token: Token
    /// Not nil exactly for Web Push.
    public let keys: WebPushKeys?
    public let settings: NotificationSettings
    let sent: SentDevice
    /// The device as the service stores it.
    public let device: Device
    /// The user and session that the app's back end sends.
    public let owner: Owner?
    public let times: Times

    public var installID: InstallID { device.installID }

    /// The request that the service parses from ``body(settings:)``.
    public var request: RegistrationRequest {
        RegistrationRequest(token: token, keys: keys, snapshot: Snapshot(settings: settings, device: device))
    }

    /// When the installation registered first and when it was last seen.
    public struct Times: Hashable, Sendable {
        public let createdAt: Timestamp
        public let lastSeenAt: Timestamp
    }
}

/// How long ago the installations of a fleet were last seen.
public enum LastSeenSpread: Hashable, Sendable {
    /// Up to four months, as in an app that never cleaned up (estimated).
    case fourMonths
    /// At most this many seconds. If that is below the touch interval, repeating a registration changes nothing.
    case withinSeconds(Int)

    /// Ranges of hours, each with the percentage of installations last seen then.
    private static let hours = WeightedChoice<Range<Int>>([
        (0..<24, 52), (24..<168, 22), (168..<720, 13), (720..<1_440, 7), (1_440..<2_880, 6),
    ])

    func seconds(_ random: inout FleetRandom) -> Int {
        switch self {
        case .withinSeconds(let most): return random.below(max(1, most))
        case .fourMonths:
            let hours = Self.hours.pick(&random)
            return hours.lowerBound * 3_600 + random.below(hours.count * 3_600)
        }
    }
}

extension FleetInstallation.Times {
    /// Created up to three years before they were last seen; young ones are more common.
    static func make(
        _ asOf: Timestamp, _ spread: LastSeenSpread, _ random: inout FleetRandom
    ) -> FleetInstallation.Times {
        let lastSeen = asOf.wholeSeconds - Int64(spread.seconds(&random))
        let (first, second) = (random.fraction(), random.fraction())
        let age = Int64(first * second * 3 * 365 * 86_400)
        let microsecond = Int64(random.below(1_000_000))
        return .init(
            createdAt: Timestamp(microseconds: (lastSeen - age) * 1_000_000 - microsecond),
            lastSeenAt: Timestamp(microseconds: lastSeen * 1_000_000))
    }
}
