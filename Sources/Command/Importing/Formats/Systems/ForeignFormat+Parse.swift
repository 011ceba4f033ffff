import PushRegistry

extension ForeignFormat {
    /// Parse Server's `_Installation`: what mongoexport writes, the dashboard's or REST API's JSON, or the table of the
    /// PostgreSQL adapter as CSV.
    ///
    /// Source: parse-server, src/Controllers/SchemaController.js and src/Adapters/Storage/Mongo/MongoTransform.js.
    static let parse = ForeignFormat(
        name: "parse", system: "Parse Server",
        signatures: [["deviceToken", "deviceType"], ["installationId", "deviceType"]],
        wrappers: ["results"],
        app: "appIdentifier",
        skips: [
            // Tokens of the old GCM.
            Rule(.foreignToken, "deviceToken") { $0.hasPrefix("id:") },
            Rule(.adm, "pushType", is: ["adm"]), Rule(.wns, "pushType", is: ["wns"]),
            Rule(.mpns, "pushType", is: ["mpns"]),
        ],
        provider: "deviceType",
        providers: [
            "ios": .apple, "osx": .apple, "macos": .apple, "tvos": .apple, "watchos": .apple, "android": .fcm,
            "web": .skipped(.noKeys), "js": .skipped(.noKeys), "winrt": .skipped(.wns), "winphone": .skipped(.mpns),
            "dotnet": .skipped(.unknownType), "embedded": .skipped(.unknownType),
        ],
        // Apps on iOS that register with FCM.
        otherProviders: [OtherProvider(.fcm, "pushType", is: ["fcm", "gcm"])],
        token: ["deviceToken"],
        fields: [
            Field(.installID, "installationId", "objectId", "_id"),
            Field(.userID, "user.objectId", "_p_user", "user", as: .pointer),
            Field(.lastSeenAt, "_updated_at", "updatedAt", as: .time),
            Field(.createdAt, "_created_at", "createdAt", as: .time),
            Field(.locale, "localeIdentifier"), Field(.timeZone, "timeZone", as: .timeZone),
            Field(
                .systemName, "deviceType",
                as: .mapped([
                    "ios": "iOS", "osx": "macOS", "macos": "macOS", "tvos": "tvOS", "watchos": "watchOS",
                    "android": "Android",
                ])),
            Field(.appVersion, "appVersion"), Field(.osVersion, "osVersion"), Field(.deviceModel, "deviceModel"),
        ],
        tags: { row in row.channels.map { ForeignTag(name: $0) } })
}

extension ForeignRow {
    /// In the table of the PostgreSQL adapter they are the text of an array: JSON, or PostgreSQL's own form.
    fileprivate var channels: [String] {
        let texts = texts("channels")
        guard case .table = self, let text = texts.first else { return texts.filter { !$0.isEmpty } }
        return text.split { "[]{},\"".contains($0) }.map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
    }
}
