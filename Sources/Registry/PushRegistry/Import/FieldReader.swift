import Foundation

/// Reads the fields of one line and collects their faults.
struct FieldReader {
    private let record: ImportRecord
    private(set) var faults: [ImportFault] = []
    /// Values that no fault rejects, and that count as missing.
    var notUnderstood: [(field: ImportField, value: String)] = []

    init(_ record: ImportRecord) {
        self.record = record
    }

    /// The field's text; nil if the line has none, or one that stands for none. A permission has words of its own.
    private func value(_ field: ImportField) -> String? {
        guard let text = record[field], field != .authorizationStatus else { return record[field] }
        return (field.identifies ? text.identifiesNobody : text.isNull) ? nil : text
    }

    /// A value that decides whom a push reaches, so that a line with an invalid one is rejected. Nil if the line has
    /// none, or after a fault.
    mutating func strict<Value>(
        _ field: ImportField, _ parse: (String) throws(InvalidValue) -> Value
    ) -> Value? {
        guard let text = value(field) else { return nil }
        do throws(InvalidValue) {
            return try parse(text)
        } catch {
            refuse(field, error)
            return nil
        }
    }

    mutating func required<Value>(
        _ field: ImportField, _ parse: (String) throws(InvalidValue) -> Value
    ) -> Value? {
        if value(field) == nil {
            refuse(field, InvalidValue(code: "required", detail: "This field is required."))
        }
        return strict(field, parse)
    }

    /// Any other value: nil if the line has none, or one that was not understood.
    private mutating func optional<Value>(_ field: ImportField, _ parse: (String) -> Value?) -> Value? {
        guard let text = value(field) else { return nil }
        if let value = parse(text) { return value }
        notUnderstood.append((field, text))
        return nil
    }

    /// A text within the limits of a registration.
    mutating func text(_ field: ImportField) -> String? {
        optional(field) { Self.isValid($0) ? $0 : nil }
    }

    private static func isValid(_ text: String) -> Bool {
        (text.utf8.count <= Device.textScalarsMax || text.unicodeScalars.count <= Device.textScalarsMax)
            && !text.utf8.contains(0)
    }

    /// Programs write integers with a fraction of zero, too.
    mutating func integer(_ field: ImportField, in range: ClosedRange<Int64>) -> Int64? {
        optional(field) { text in
            (Int64(text) ?? Double(text).flatMap { Int64(exactly: $0) }).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    mutating func time(_ field: ImportField) -> Timestamp? {
        optional(field, ImportedTime.parse)
    }

    /// Nil after a fault.
    mutating func provider(default provider: Provider) -> Provider? {
        guard value(.provider) != nil else { return provider }
        return strict(.provider) { text throws(InvalidValue) in
            guard let provider = Provider(word: text) else {
                let names = Provider.allCases.map(\.rawValue).joined(separator: ", ")
                throw InvalidValue(code: "unknown-provider", detail: "This must be one of \(names).")
            }
            return provider
        }
    }

    /// Nil after a fault. Browsers' `btoa` and other systems write standard base64 (RFC 4648, section 4).
    mutating func keys() -> WebPushKeys? {
        func urlSafe(_ text: String) -> String { text.replacing("+", with: "-").replacing("/", with: "_") }
        let p256dh = required(.p256dh) { text in urlSafe(text) }
        let auth = required(.auth) { text in urlSafe(text) }
        guard let p256dh, let auth else { return nil }
        do throws(WebPushKeys.InvalidKeys) {
            return try WebPushKeys(p256dh: p256dh, auth: auth)
        } catch {
            if let reason = error.p256dh { refuse(.p256dh, reason) }
            if let reason = error.auth { refuse(.auth, reason) }
            return nil
        }
    }

    /// The session of a user. An expiry requires a session id, and a session id requires a user id. Without its expiry
    /// a session would not end.
    mutating func session(of userID: UserID?) -> Owner.Session? {
        let id = strict(.sessionID) { text throws(InvalidValue) in try SessionID(text) }
        let expiresAt = strict(.sessionExpiresAt) { text throws(InvalidValue) in
            guard let time = ImportedTime.parse(text) else {
                throw InvalidValue(code: "invalid-time", detail: "This is not a time in a supported form.")
            }
            return time
        }
        if value(.sessionID) != nil, value(.userID) == nil {
            refuse(
                .sessionID, InvalidValue(code: "required", detail: "A session belongs to a user: userId is required."))
        }
        if value(.sessionExpiresAt) != nil, value(.sessionID) == nil {
            refuse(.sessionExpiresAt, InvalidValue(code: "required", detail: "This requires sessionId."))
        }
        guard userID != nil, let id else { return nil }
        return Owner.Session(id: id, expiresAt: expiresAt)
    }

    /// A list within the limits of a registration.
    mutating func languages() -> [String]? {
        optional(.languages) { text in
            guard let languages = try? JSONDecoder().decode([String].self, from: Data(text.utf8)),
                languages.count <= Device.languagesMax, languages.allSatisfy(Self.isValid)
            else { return nil }
            return languages
        }
    }

    /// Latitude and longitude in degrees: `52.52 13.4`, `(52.52,13.4)`.
    mutating func location() -> Location? {
        optional(.location) { text in
            let numbers = text.split { "(), ".contains($0) }.map { Double($0) }
            guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1] else { return nil }
            return Location(latitude: latitude, longitude: longitude)
        }
    }

    mutating func flag(_ field: ImportField) -> Bool? { optional(field) { try? AudienceField.flag($0) } }

    mutating func settings() -> NotificationSettings {
        var settings = NotificationSettings()
        var visitor = SettingsVisitor(fields: self)
        settings.visitAll(&visitor)
        self = visitor.fields
        settings.authorizationStatus = authorizationStatus()
        return settings
    }

    /// A word that is not in the table does not make an installation reachable, as `unknown` does for most providers.
    private mutating func authorizationStatus() -> AuthorizationStatus {
        guard let word = record[.authorizationStatus] else { return .unknown }
        if let status = AuthorizationStatus(word: word) { return status }
        if word.allSatisfy(\.isWhitespace) { return .unknown }
        notUnderstood.append((.authorizationStatus, word))
        return .notDetermined
    }

    private mutating func refuse(_ field: ImportField, _ reason: InvalidValue) {
        faults.append(ImportFault(field.name, reason))
    }
}

/// Sets each setting but `authorizationStatus` from the field of the same name.
private struct SettingsVisitor: NotificationSettingsVisitor {
    /// The fields of the settings, in the order of `visitAll`: looked up by name once, not for each line.
    private static let settingFields = NotificationSettings.names.compactMap { ImportField($0) }

    var fields: FieldReader
    private var visited = 0

    init(fields: FieldReader) {
        self.fields = fields
    }

    private mutating func nextField() -> ImportField {
        defer { visited += 1 }
        return Self.settingFields[visited]
    }

    mutating func visit<Setting: OpenSetting>(_ name: StaticString, _ setting: inout Setting) {
        let field = nextField()
        guard field != .authorizationStatus, let text = fields.text(field), !text.isEmpty else { return }
        setting = Setting(sent: text)
        if setting == .unknown, text != setting.rawValue { fields.notUnderstood.append((field, text)) }
    }

    mutating func visit(_ name: StaticString, _ flag: inout Bool?) {
        let field = nextField()
        flag = fields.flag(field)
    }
}
