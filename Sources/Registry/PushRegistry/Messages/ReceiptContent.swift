/// The events of a message at one installation.
public struct MessageEvents: OptionSet, Hashable, Sendable {
    public let rawValue: Int16

    public init(rawValue: Int16) {
        self.rawValue = rawValue
    }

    /// The installation's token was handed out for the message.
    public static let targeted = MessageEvents(rawValue: 1)
    /// The provider accepted the push.
    public static let accepted = MessageEvents(rawValue: 2)
    /// The provider reported the token as dead or doubtful.
    public static let failed = MessageEvents(rawValue: 4)
    public static let delivered = MessageEvents(rawValue: 8)
    public static let opened = MessageEvents(rawValue: 16)
    public static let dismissed = MessageEvents(rawValue: 32)

    /// These events and the events that they imply: `opened` and `dismissed` imply `delivered`.
    public var complete: MessageEvents {
        isDisjoint(with: [.opened, .dismissed]) ? self : union(.delivered)
    }
}

/// An event that an app or a service worker reports.
public enum ReceiptEvent: String, CaseIterable, Sendable {
    case delivered, opened, dismissed

    public var events: MessageEvents {
        switch self {
        case .delivered: .delivered
        case .opened: .opened
        case .dismissed: .dismissed
        }
    }
}

/// 64 bits of a keyed hash of an installation's id. It identifies the installation for counting, without its id.
public struct InstallationHash: Hashable, Sendable {
    public let rawValue: Int64

    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The encrypted content of a receipt.
public struct ReceiptContent: Hashable, Sendable {
    public let message: MessageNumber
    public let installation: InstallationHash
    /// The installation's cell of the roll-up when the message was handed out: provider, locale, time zone, OS version
    /// and authorization.
    public let cell: Int64
    /// The message's expiry when the receipt was handed out, in whole seconds.
    public let expiresAt: Timestamp

    public init(message: MessageNumber, installation: InstallationHash, cell: Int64, expiresAt: Timestamp) {
        (self.message, self.installation, self.cell, self.expiresAt) = (message, installation, cell, expiresAt)
    }
}

extension ReceiptContent {
    public static let bytesCount = 25

    /// Appends message (5 bytes), installation (8), cell (8) and the expiry in seconds since 1970 (4), big-endian.
    public func append(to bytes: inout [UInt8]) {
        for shift in stride(from: 32, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: message.rawValue >> Int64(shift)))
        }
        Self.append(UInt64(bitPattern: installation.rawValue), to: &bytes)
        Self.append(UInt64(bitPattern: cell), to: &bytes)
        // Rounded up; four bytes last until the year 2106.
        let seconds = (expiresAt.microseconds + 999_999) / 1_000_000
        Self.append(UInt32(clamping: seconds), to: &bytes)
    }

    /// Nil unless there are `bytesCount` bytes.
    public init?(_ bytes: some Sequence<UInt8>) {
        let bytes = Array(bytes)
        guard bytes.count == Self.bytesCount else { return nil }
        message = MessageNumber(Int64(Self.number(bytes[0..<5])))
        installation = InstallationHash(Int64(bitPattern: Self.number(bytes[5..<13])))
        cell = Int64(bitPattern: Self.number(bytes[13..<21]))
        expiresAt = Timestamp(microseconds: Int64(Self.number(bytes[21..<25])) * 1_000_000)
    }

    private static func append<Number: FixedWidthInteger>(_ number: Number, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
