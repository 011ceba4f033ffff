import PushRegistry

extension ForeignFormat {
    /// OneSignal's CSV export (POST /players/csv_export), with the columns of `extra_fields`.
    ///
    /// Source: documentation.onesignal.com/reference/csv-export; the SDKs' kinds of subscriptions.
    static let oneSignal = ForeignFormat(
        name: "onesignal", system: "OneSignal",
        signatures: [["identifier", "device_type"]],
        wrappers: ["players"],
        skips: [
            // Also set when the token became invalid.
            Rule(.unsubscribed, "invalid_identifier") { AuthorizationStatus(word: $0) != .denied }
        ],
        optOuts: [
            // 0: no permission. Below: opted out in the app, or an error of the subscription. Tools write 1.0.
            Rule(.optedOut, "notification_types") { !((Double($0) ?? 0) > 0) }
        ],
        permissions: [
            Rule(.optedOut, "notification_types") { (Double($0) ?? 0) > 0 },
            Rule(.optedOut, "invalid_identifier") { AuthorizationStatus(word: $0) == .denied },
        ],
        provider: "device_type",
        providers: [
            "0": .apple, "1": .fcm, "2": .skipped(.adm), "3": .skipped(.wns), "4": .skipped(.foreignToken),
            "5": .webPush, "6": .skipped(.wns), "7": .skipped(.legacySafari), "8": .webPush, "9": .apple,
            "10": .skipped(.foreignToken), "11": .skipped(.email), "12": .webPush, "13": .huawei,
            "14": .skipped(.sms), "17": .webPush,
        ],
        token: ["identifier"],
        fields: [
            Field(.installID, "id"), Field(.userID, "external_user_id", "external_id"),
            Field(.p256dh, "web_p256"), Field(.auth, "web_auth"),
            Field(.lastSeenAt, "last_active", as: .time), Field(.createdAt, "created_at", as: .time),
            Field(.language, "language"), Field(.region, "country", as: .upperCased),
            Field(.timeZone, "timezone_id", as: .timeZone), Field(.utcOffset, "timezone", as: .seconds),
            Field(
                .systemName, "device_type",
                as: .mapped([
                    "0": "iOS", "1": "Android", "5": "Web", "8": "Web", "9": "macOS", "12": "Web", "13": "HarmonyOS",
                    "17": "Web",
                ])),
            // Of a browser these are its version and its platform.
            Field(.osVersion, "device_os", as: .version).exceptWeb(), Field(.appVersion, "game_version"),
            Field(.deviceModel, "device_model").exceptWeb(), Field(.location, "location"),
        ],
        tags: { row in row.json("tags").map(ForeignTag.choices) ?? [] })
}
