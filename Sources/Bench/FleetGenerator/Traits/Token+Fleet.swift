import Basics
import PushRegistry

extension Provider {
    /// Development builds use Apple's sandbox, and phones without Google's services use Huawei's: estimates.
    static func make(on platform: Platform, in zone: Zone, _ random: inout FleetRandom) -> Provider {
        switch platform {
        case .ios: random.isTrue(0.02) ? .apnsSandbox : .apns
        case .android: random.isTrue(zone.isInChina ? 0.6 : 0.01) ? .huawei : .fcm
        case .web: .webPush
        }
    }
}

extension Zone {
    /// The zones in which Google's services are not available.
    fileprivate var isInChina: Bool { id == "Asia/Shanghai" || id == "Asia/Urumqi" }
}

extension Token {
    /// Texts with each provider's lengths and alphabets.
    static func make(of provider: Provider, _ random: inout FleetRandom) -> Token {
        let text =
            switch provider {
            case .apns, .apnsSandbox: random.hex(random.isTrue(0.97) ? 64 : 160)
            case .fcm:
                "\(random.digits(1, of: Array("cdef".utf8)))\(random.base64URL(21)):APA91b\(random.base64URL(134))"
            case .huawei: "IQAAAACy\(random.base64URL(116))"
            case .webPush: endpoint(&random)
            }
        return mustSucceed { () throws(InvalidValue) in try Token(text, of: provider) }
    }

    private static func endpoint(_ random: inout FleetRandom) -> String {
        switch random.below(10) {
        case 0..<6: "https://fcm.googleapis.com/fcm/send/\(random.base64URL(11)):APA91b\(random.base64URL(134))"
        case 6..<8: "https://updates.push.services.mozilla.com/wpush/v2/gAAAAAB\(random.base64URL(184))"
        case 8: "https://web.push.apple.com/Q\(random.base64URL(170))"
        default: "https://wns2-par02p.notify.windows.com/w/?token=BQ\(random.base64URL(160))"
        }
    }
}

extension WebPushKeys {
    /// Valid by form; the point is not on the curve.
    static func make(_ random: inout FleetRandom) -> WebPushKeys {
        // 65 bytes are 87 digits, the last of which holds four bits; 16 bytes are 22 digits, the last of which holds
        // two. The first byte is 4: the digits start with `BA` to `BP`.
        let p256dh =
            "B\(random.digits(1, of: Array("ABCDEFGHIJKLMNOP".utf8)))\(random.base64URL(84))\(random.hexLast(4))"
        let auth = "\(random.base64URL(21))\(random.hexLast(2))"
        return mustSucceed { () throws(WebPushKeys.InvalidKeys) in try WebPushKeys(p256dh: p256dh, auth: auth) }
    }
}

extension FleetRandom {
    fileprivate mutating func base64URL(_ count: Int) -> String {
        digits(count, of: Base64URL.digits)
    }

    /// A last digit of base64url that uses only the upper `bits` of its six bits.
    fileprivate mutating func hexLast(_ bits: Int) -> String {
        String(UnicodeScalar(Base64URL.digits[below(1 << bits) << (6 - bits)]))
    }
}
