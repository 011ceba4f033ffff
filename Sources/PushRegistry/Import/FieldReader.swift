import Foundation

/// Reads the fields of one line, and keeps what is wrong with them.
struct FieldReader {
    private let record: ImportRecord
    private(set) var faults: [ImportFault] = []

    init(_ record: ImportRecord) {
        self.record = record
    }

    mutating func optional<Value>(
        _ field: ImportField, _ make: (String) throws(InvalidValue) -> Value
    ) -> Value? {
        guard let text = record[field] else { return nil }
        do throws(InvalidValue) {
            return try make(text)
        } catch {
            refuse(field, error)
            return nil
        }
    }

    mutating func required<Value>(
        _ field: ImportField, _ make: (String) throws(InvalidValue) -> Value
    ) -> Value? {
        if record[field] == nil {
            refuse(field, InvalidValue(code: "required", detail: "This field is required."))
        }
        return optional(field, make)
    }

    /// A text as a registration may send it.
    mutating func text(_ field: ImportField) -> String? {
        optional(field) { text throws(InvalidValue) in
            guard text.utf8.count <= Device.textScalarsMax || text.unicodeScalars.count <= Device.textScalarsMax else {
                throw InvalidValue(
                    code: "too-long", detail: "At most \(Device.textScalarsMax) characters are allowed.")
            }
            guard !text.utf8.contains(0) else {
                throw InvalidValue(code: "nul-character", detail: "The character U+0000 is not allowed.")
            }
            return text
        }
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
                throw InvalidValue(
                    code: "invalid-time", detail: "This must be a time of RFC 3339 with its offset.")
            }
            return time
        }
    }

    /// `apns` by default, as in a registration; nil where a fault was added.
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

    /// Nil where a fault was added.
    mutating func keys() -> WebPushKeys? {
        let p256dh = required(.p256dh) { text in text }
        let auth = required(.auth) { text in text }
        guard let p256dh, let auth else { return nil }
        do throws(WebPushKeys.InvalidKeys) {
            return try WebPushKeys(p256dh: p256dh, auth: auth)
        } catch {
            if let reason = error.p256dh { refuse(.p256dh, reason) }
            if let reason = error.auth { refuse(.auth, reason) }
            return nil
        }
    }

    /// The session of a user; its expiry needs its id, and its id a user.
    mutating func session(of userID: UserID?) -> Owner.Session? {
        let id = optional(.sessionID) { text throws(InvalidValue) in try SessionID(text) }
        let expiresAt = time(.sessionExpiresAt)
        if record[.sessionID] != nil, record[.userID] == nil {
            refuse(
                .sessionID, InvalidValue(code: "required", detail: "A session belongs to a user: userId is required."))
        }
        if record[.sessionExpiresAt] != nil, record[.sessionID] == nil {
            refuse(.sessionExpiresAt, InvalidValue(code: "required", detail: "This needs sessionId."))
        }
        guard userID != nil, let id else { return nil }
        return Owner.Session(id: id, expiresAt: expiresAt)
    }

    /// As many as a registration may send.
    mutating func languages() -> [String]? {
        optional(.languages) { text throws(InvalidValue) in
            guard let languages = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
                throw InvalidValue(code: "wrong-type", detail: "This must be a JSON array of texts.")
            }
            guard languages.count <= Device.languagesMax else {
                throw InvalidValue(code: "too-many", detail: "At most \(Device.languagesMax) languages are allowed.")
            }
            for language in languages {
                guard language.unicodeScalars.count <= Device.textScalarsMax else {
                    throw InvalidValue(
                        code: "too-long", detail: "At most \(Device.textScalarsMax) characters are allowed.")
                }
                guard !language.utf8.contains(0) else {
                    throw InvalidValue(code: "nul-character", detail: "The character U+0000 is not allowed.")
                }
            }
            return languages
        }
    }

    /// Two numbers of degrees, north and east, with a space between them.
    mutating func location() -> Location? {
        optional(.location) { text throws(InvalidValue) in
            let numbers = text.split(separator: " ").map { Double($0) }
            guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
                let location = Location(latitude: latitude, longitude: longitude)
            else {
                throw InvalidValue(
                    code: "out-of-range", detail: "This must be degrees north and east with a space between them.")
            }
            return location
        }
    }

    mutating func settings() -> NotificationSettings {
        var settings = NotificationSettings()
        settings.authorizationStatus = setting(.authorizationStatus)
        settings.soundSetting = setting(.soundSetting)
        settings.badgeSetting = setting(.badgeSetting)
        settings.alertSetting = setting(.alertSetting)
        settings.notificationCenterSetting = setting(.notificationCenterSetting)
        settings.lockScreenSetting = setting(.lockScreenSetting)
        settings.carPlaySetting = setting(.carPlaySetting)
        settings.criticalAlertSetting = setting(.criticalAlertSetting)
        settings.announcementSetting = setting(.announcementSetting)
        settings.alertStyle = setting(.alertStyle)
        settings.showPreviewsSetting = setting(.showPreviewsSetting)
        settings.providesAppNotificationSettings = optional(.providesAppNotificationSettings) {
            text throws(InvalidValue) in try AudienceField.flag(text)
        }
        return settings
    }

    private mutating func setting<Setting: OpenSetting>(_ field: ImportField) -> Setting {
        text(field).map(Setting.init(sent:)) ?? .unknown
    }

    private mutating func refuse(_ field: ImportField, _ reason: InvalidValue) {
        faults.append(ImportFault(field.name, reason))
    }
}
