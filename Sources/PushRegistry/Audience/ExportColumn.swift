/// What an export reads of an installation.
public enum ExportColumn: Hashable, Sendable {
    case field(AudienceField)
    case installID, token, generation, userID
    /// Of a Web Push subscription.
    case p256dh, auth

    /// What the texts of a column's cells are.
    public enum Kind: Hashable, Sendable {
        case text
        /// Digits.
        case integer
        /// `true` or `false`.
        case flag
        /// A pair of numbers with a space between them, north and east.
        case location
    }

    public var kind: Kind {
        switch self {
        case .generation, .field(.utcOffset): .integer
        case .field(.providesAppNotificationSettings): .flag
        case .field(.location): .location
        default: .text
        }
    }
}

/// A piece of an export, in the database's memory until it is let go.
public protocol ExportRows: Sendable {
    var count: Int { get }

    /// Lends the id of the row's installation, whatever the columns are.
    func withInstallID<Value>(_ row: Int, _ body: (RawSpan) -> Value) -> Value?

    /// Lends a cell's text in UTF-8; nil where there is no value. Columns are numbered as they were asked for.
    func withCell<Value>(_ row: Int, _ column: Int, _ body: (RawSpan) -> Value) -> Value?
}
