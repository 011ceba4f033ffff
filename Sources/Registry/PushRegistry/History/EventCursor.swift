/// The position of an event: the feed is ordered by transaction and event number, a history by event number alone.
public struct EventCursor: Hashable, Sendable {
    /// The database that numbered the transaction. A restored dump has another epoch.
    public let epoch: String
    public let app: AppNumber
    /// The number of the transaction.
    public let position: Int64
    /// The number of the event.
    public let id: Int64

    public init(epoch: String, app: AppNumber, position: Int64, id: Int64) {
        self.epoch = epoch
        self.app = app
        self.position = position
        self.id = id
    }

    private static let epochCharacters = 16
}

/// The text that clients send back: `<epoch>.<app>.<transaction>.<event>`. It is opaque to clients.
extension EventCursor: LosslessStringConvertible {
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].utf8.count == Self.epochCharacters,
            parts[0].utf8.allSatisfy(Self.isHexadecimal),
            let app = Int32(parts[1]), let position = Int64(parts[2]), let id = Int64(parts[3]),
            app > 0, position > 0, id >= 0
        else { return nil }
        self.init(epoch: String(parts[0]), app: AppNumber(app), position: position, id: id)
    }

    public var description: String { "\(epoch).\(app.rawValue).\(position).\(id)" }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}
