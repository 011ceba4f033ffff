import PushRegistry

/// A field of a row of an export.
enum ExportField: Hashable, Sendable {
    case column(ExportColumn)
    /// The keys of a Web Push subscription; in NDJSON only.
    case keys
    /// The opaque id that marketing gets.
    case id
    case cursor
    /// Of a message; never named in `fields`.
    case receipt(isRecorded: Bool)

    /// `userId` is `.column(.userID)`: it identifies a person. `topic` has any number of values.
    private static let all: [ExportField] =
        [
            .column(.installID), .column(.token), .column(.generation), .column(.userID), .keys, .id, .cursor,
            .column(.keychainID), .column(.vendorID), .column(.languages), .column(.sessionID),
            .column(.sessionExpiresAt), .column(.p256dh), .column(.auth),
        ] + ofTypedTokens
        + AudienceField.allCases.filter { ![.userID, .topic].contains($0) }.map { .column(.field($0)) }

    /// Of rows of typed tokens only.
    private static let ofTypedTokens: [ExportField] = [
        .column(.environment), .column(.tokenName), .column(.tokenExpiresAt),
    ]

    static let names = all.map(\.name)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    init?(_ name: String) {
        guard let field = Self.byName[name] else { return nil }
        self = field
    }

    /// The name in the API.
    var name: String {
        switch self {
        case .column(.installID): "installId"
        case .column(.token): "token"
        case .column(.generation): "generation"
        case .column(.userID): "userId"
        case .column(.keychainID): "keychainId"
        case .column(.vendorID): "vendorId"
        case .column(.languages): "preferredLanguages"
        case .column(.sessionID): "sessionId"
        case .column(.sessionExpiresAt): "sessionExpiresAt"
        case .column(.p256dh): "p256dh"
        case .column(.auth): "auth"
        case .column(.cell): "cell"
        case .column(.opaqueID): "id"
        case .column(.environment): "environment"
        case .column(.tokenName): "name"
        case .column(.tokenExpiresAt): "expiresAt"
        case .column(.place): "place"
        case .keys: "keys"
        case .column(.field(let field)): field.rawValue
        case .id: "id"
        case .cursor: "cursor"
        case .receipt: "receipt"
        }
    }

    /// The columns to read; at least one.
    ///
    /// - Parameter cursor: the column from which a cursor is made.
    func columns(cursor: ExportColumn) -> [ExportColumn] {
        switch self {
        case .column(let column): [column]
        case .keys: [.p256dh, .auth]
        case .id: [.opaqueID]
        case .cursor: [cursor]
        case .receipt(let isRecorded): [.installID, .cell] + (isRecorded ? [.userID] : [])
        }
    }

    /// Whether marketing must not see the field: it identifies a person or addresses a device (R14).
    var isForSenders: Bool {
        switch self {
        case .id, .cursor, .column(.field): false
        case .keys, .column, .receipt: true
        }
    }

    var isOfTypedTokens: Bool { Self.ofTypedTokens.contains(self) }

    /// The fields of a call that names none.
    static func standard(sender: Bool, _ format: ExportFormat, isTyped: Bool = false) -> [ExportField] {
        guard sender else { return [.id, .cursor] }
        return [.column(.installID), .column(.field(.provider)), .column(.token)]
            + (isTyped ? ofTypedTokens : format == .ndjson ? [.keys] : []) + [.column(.generation), .cursor]
    }
}

/// The file format of an export.
public enum ExportFormat: String, CaseIterable, Sendable {
    case ndjson, csv

    var mediaType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8"
        }
    }
}
