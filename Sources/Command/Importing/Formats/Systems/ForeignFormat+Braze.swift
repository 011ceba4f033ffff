import PushRegistry

extension ForeignFormat {
    /// Braze's users: the files of `POST /users/export/segment`. A user has several push tokens: each becomes an
    /// installation, with the device of the same `device_id` and the app of the same name.
    ///
    /// Language, country and time zone are the user's. `last_coordinates` do not come over: their order is not certain.
    ///
    /// Source: braze-inc/braze-docs, "Export user profile by segment"; "Push token migration".
    static let braze = ForeignFormat(
        name: "braze", system: "Braze",
        signatures: [["push_tokens"], ["braze_id"], ["external_id", "devices"]],
        wrappers: ["users"],
        expand: expandUser,
        prefixes: ["user."],
        app: "token.app",
        optOuts: [
            .unset(.unsubscribed, "user.push_subscribe"),
            .unset(.optedOut, "token.notifications_enabled"),
        ],
        permissions: [
            Rule(.optedOut, "token.notifications_enabled", is: ["true"]),
            Rule(.optedOut, "user.push_subscribe", is: ["opted_in"]),
        ],
        provider: "token.platform",
        providers: [
            "ios": .apple, "ipados": .apple, "tvos": .apple, "macos": .apple, "android": .fcm, "web": .webPush,
            "web push": .webPush, "kindle": .skipped(.adm), "fireos": .skipped(.adm), "huawei": .huawei,
            "windows": .skipped(.wns), "windows8": .skipped(.wns), "windows_phone8": .skipped(.mpns),
        ],
        token: ["token.token"],
        fields: [
            Field(.installID, "token.device_id"), Field(.userID, "user.external_id"),
            Field(.vendorID, "device.idfv"),
            Field(.lastSeenAt, "app.last_used", as: .time),
            Field(.createdAt, "app.first_used", "user.created_at", as: .time),
            Field(.language, "user.language"), Field(.region, "user.country", as: .upperCased),
            Field(.timeZone, "user.time_zone", as: .timeZone),
            Field(
                .systemName, "token.platform",
                as: .mapped([
                    "ios": "iOS", "ipados": "iPadOS", "tvos": "tvOS", "macos": "macOS", "android": "Android",
                    "web": "Web", "web push": "Web", "huawei": "HarmonyOS",
                ])),
            // "iOS 17.4" has a number, "Android (Q)" has none.
            Field(.osVersion, "device.os", as: .leadingVersion), Field(.appVersion, "app.version"),
            Field(.deviceModel, "device.model"), Field(.carrier, "device.carrier"),
        ])

    private static let expandUser: @Sendable (ForeignRow) -> [ForeignRow] = { user in
        let tokens = user.rows("push_tokens")
        guard !tokens.isEmpty else { return [.scoped(["user": user])] }
        let (devices, apps) = (user.rows("devices"), user.rows("apps"))
        return tokens.map { token in
            let (id, name) = (token.text("device_id"), token.text("app"))
            let device = id.flatMap { id in devices.first { $0.text("device_id") == id } }
            let app = name.flatMap { name in apps.first { $0.text("name") == name } }
            return .scoped(["user": user, "token": token, "device": device, "app": app])
        }
    }
}
