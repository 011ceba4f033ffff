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

    /// The field's value; nil if the line has none, or after a fault.
    mutating func optional<Value>(
        _ field: ImportField, _ parse: (String) throws(InvalidValue) -> Value
    ) -> Value? {
        guard let text = record[field] else { return nil }
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
        if record[field] == nil {
            refuse(field, InvalidValue(code: "required", detail: "This field is required."))
        }
        return optional(field, parse)
    }

    /// A text within the limits of a registration.
    mutating func text(_ field: ImportField) -> String? {
        optional(field, Self.checked)
    }

    private static func checked(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.count <= Device.textScalarsMax || text.unicodeScalars.count <= Device.textScalarsMax else {
            throw InvalidValue(code: "too-long", detail: "At most \(Device.textScalarsMax) characters are allowed.")
        }
        guard !text.utf8.contains(0) else {
            throw InvalidValue(code: "nul-character", detail: "The character U+0000 is not allowed.")
        }
        return text
    }

    mutating func integer(_ field: ImportField, in range: ClosedRange<Int64>) -> Int64? {
        optional(field) { text throws(InvalidValue) in
            guard let value = Int64(text), range.contains(value) else {
                throw InvalidValue(
                    code: "out-of-range",
                    detail: "This must be an integer from \(range.lowerBound) to \(range.upperBound).")
            }
            return value
        }
    }

    mutating func time(_ field: ImportField) -> Timestamp? {
        optional(field) { text throws(InvalidValue) in
            guard let time = Timestamp(text) else {
                throw InvalidValue(code: "invalid-time", detail: "This must be an RFC 3339 time with an offset.")
            }
            return time
        }
    }

    /// `apns` by default, as in a registration; nil after a fault.
    mutating func provider() -> Provider? {
        guard record[.provider] != nil else { return .apns }
        return optional(.provider) { text throws(InvalidValue) in
            guard let provider = Provider(rawValue: text) else {
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

    /// The session of a user. An expiry requires a session id, and a session id requires a user id.
    mutating func session(of userID: UserID?) -> Owner.Session? {
        let id = optional(.sessionID) { text throws(InvalidValue) in try SessionID(text) }
        let expiresAt = time(.sessionExpiresAt)
        if record[.sessionID] != nil, record[.userID] == nil {
            refuse(
                .sessionID, InvalidValue(code: "required", detail: "A session belongs to a user: userId is required."))
        }
        if record[.sessionExpiresAt] != nil, record[.sessionID] == nil {
            refuse(.sessionExpiresAt, InvalidValue(code: "required", detail: "This requires sessionId."))
        }
        guard userID != nil, let id else { return nil }
        return Owner.Session(id: id, expiresAt: expiresAt)
    }

    /// A list within the limits of a registration.
    mutating func languages() -> [String]? {
        optional(.languages) { text throws(InvalidValue) in
            guard let languages = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
                throw InvalidValue(code: "wrong-type", detail: "This must be a JSON array of strings.")
            }
            guard languages.count <= Device.languagesMax else {
                throw InvalidValue(code: "too-many", detail: "At most \(Device.languagesMax) languages are allowed.")
            }
            for language in languages { _ = try Self.checked(language) }
            return languages
        }
    }

    /// Two decimal numbers separated by a space: latitude and longitude.
    mutating func location() -> Location? {
        optional(.location) { text throws(InvalidValue) in
            let numbers = text.split(separator: " ").map { Double($0) }
            guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
                let location = Location(latitude: latitude, longitude: longitude)
            else {
                throw InvalidValue(
                    code: "out-of-range", detail: "This must be latitude and longitude in degrees: 52.52 13.4.")
            }
            return location
        }
    }

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
        guard let word = text(.authorizationStatus), !word.allSatisfy(\.isWhitespace) else { return .unknown }
        if let status = AuthorizationStatus(word: word) { return status }
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
        flag = fields.optional(field) { text throws(InvalidValue) in try AudienceField.flag(text) }
    }
}
