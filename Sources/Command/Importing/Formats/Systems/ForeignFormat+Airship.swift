import PushRegistry

extension ForeignFormat {
    /// Airship's channels: the pages of `GET /api/channels`.
    ///
    /// Source: urbanairship/python-library, urbanairship/devices/devicelist.py and its tests.
    static let airship = ForeignFormat(
        name: "airship", system: "Airship",
        signatures: [["channel_id", "device_type"]],
        wrappers: ["channels"],
        emptyTexts: ["null", "none"],
        skips: [.unset(.uninstalled, "installed")],
        optOuts: [.unset(.optedOut, "opt_in")],
        permissions: [Rule(.optedOut, "opt_in", is: ["true"])],
        provider: "device_type",
        providers: [
            "ios": .apple, "android": .fcm, "web": .webPush, "amazon": .skipped(.adm), "email": .skipped(.email),
            "sms": .skipped(.sms), "open": .skipped(.openChannel), "wns": .skipped(.wns),
        ],
        token: ["push_address", "address", "web.subscription.endpoint"],
        fields: [
            Field(.installID, "channel_id"), Field(.userID, "named_user_id"),
            Field(.p256dh, "web.subscription.p256dh", "web.subscription.keys.p256dh"),
            Field(.auth, "web.subscription.auth", "web.subscription.keys.auth"),
            Field(.lastSeenAt, "last_registration", as: .time), Field(.createdAt, "created", as: .time),
            Field(.language, "tag_groups.ua_locale_language", "device_attributes.ua_language"),
            Field(.region, "tag_groups.ua_locale_country", "device_attributes.ua_country", as: .upperCased),
            Field(.timeZone, "tag_groups.timezone", "device_attributes.ua_local_tz", "ios.tz", as: .timeZone),
            Field(
                .systemName, "device_type",
                as: .mapped(["ios": "iOS", "android": "Android", "web": "Web"])),
            // The last part may be an X: "9.3.X".
            Field(
                .osVersion, "device_attributes.ua_device_os", "tag_groups.ua_ios_version",
                "tag_groups.ua_android_version", as: .leadingVersion),
            Field(
                .appVersion, "device_attributes.ua_app_version", "tag_groups.ua_ios_app_version",
                "tag_groups.ua_android_app_version"),
            Field(
                .deviceModel, "device_attributes.ua_device_model", "tag_groups.ua_ios_model",
                "tag_groups.ua_android_model"),
        ],
        tags: { row in row.texts("tags").map { ForeignTag(name: $0) } })
}
