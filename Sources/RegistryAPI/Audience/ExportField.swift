import PushRegistry

/// What a row of an export holds, by the names of the API.
enum ExportField: Hashable, Sendable {
    case column(ExportColumn)
    /// Of a Web Push subscription; in NDJSON only.
    case keys
    /// Marketing's name for the installation.
    case id
    case cursor

    init?(_ name: String) {
        switch name {
        case "installId": self = .column(.installID)
        case "token": self = .column(.token)
        case "generation": self = .column(.generation)
        case "userId": self = .column(.userID)
        case "keychainId": self = .column(.keychainID)
        case "vendorId": self = .column(.vendorID)
        case "preferredLanguages": self = .column(.languages)
        case "sessionId": self = .column(.sessionID)
        case "sessionExpiresAt": self = .column(.sessionExpiresAt)
        case "p256dh": self = .column(.p256dh)
        case "auth": self = .column(.auth)
        case "keys": self = .keys
        case "id": self = .id
        case "cursor": self = .cursor
        default:
            guard let field = AudienceField(rawValue: name) else { return nil }
            self = .column(.field(field))
        }
    }

    /// The names of all fields.
    static let names =
        [
            "installId", "token", "generation", "userId", "keys", "id", "cursor", "keychainId", "vendorId",
            "preferredLanguages",
            "sessionId", "sessionExpiresAt", "p256dh", "auth",
        ] + AudienceField.allCases.map(\.rawValue)

    /// As `init` reads it.
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
        case .keys: "keys"
        case .column(.field(let field)): field.rawValue
        case .id: "id"
        case .cursor: "cursor"
        }
    }

    /// What the database is asked for; at least one.
    var columns: [ExportColumn] {
        switch self {
        case .column(let column): [column]
        case .keys: [.p256dh, .auth]
        case .id, .cursor: [.installID]
        }
    }

    /// What is kept from marketing: who somebody is, and what reaches them (R14).
    var isForSenders: Bool {
        switch self {
        case .id, .cursor, .column(.field): false
        case .keys, .column: true
        }
    }

    /// What a row holds where the call names no fields.
    static func standard(sender: Bool, _ format: ExportFormat) -> [ExportField] {
        guard sender else { return [.id, .cursor] }
        let all: [ExportField] = [
            .column(.installID), .column(.field(.provider)), .column(.token), .keys, .column(.generation), .cursor,
        ]
        return all.filter { format == .ndjson || $0 != .keys }
    }
}

/// How the rows of an export are written.
public enum ExportFormat: String, CaseIterable, Sendable {
    case ndjson, csv

    var mediaType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8"
        }
    }
}
