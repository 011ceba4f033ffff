import PushRegistry

extension ForeignFormat {
    /// Azure Notification Hubs: the file of an export job, one XML registration a line; the REST API's list of
    /// registrations, an Atom feed; or its installations, JSON objects.
    ///
    /// An installation with templates has several registrations with one token, each with its own tags: they become one
    /// installation. A registration has no date but its expiry.
    ///
    /// Source: learn.microsoft.com, "Export and modify registrations in bulk"; Azure/azure-notificationhubs-dotnet.
    static let azure = ForeignFormat(
        name: "azure", system: "Azure Notification Hubs",
        signatures: [["RegistrationKind"], ["installationId", "pushChannel"]],
        expand: { row in [row.installation ?? .registration(row, tags: AzureTags(row.text("Tags")).named)] },
        prefixes: ["registration."],
        installation: "tag.installationid",
        skips: [
            // Also if nobody can read the time. The hub writes the year 9999 for never.
            Rule(.expired, "registration.ExpirationTime") { ImportedTime.parse($0).map { $0 <= .now() } ?? true },
            Rule(.expired, "registration.PushChannelExpired") { AuthorizationStatus(word: $0) != .denied },
        ],
        provider: "registration.RegistrationKind",
        providers: kinds,
        token: [
            "registration.DeviceToken", "registration.FcmV1RegistrationId", "registration.GcmRegistrationId",
            "registration.Endpoint",
        ],
        fields: [
            Field(.installID, "tag.installationid", "registration.RegistrationId"), Field(.userID, "tag.userid"),
            Field(.p256dh, "registration.P256DH"), Field(.auth, "registration.Auth"),
        ],
        tags: { row in AzureTags(row.text("registration.Tags")).others.map { ForeignTag(name: $0) } })

    private static let kinds: [String: ForeignProvider] = {
        let platforms: [String: ForeignProvider] = [
            "apple": .apple, "gcm": .fcm, "fcmv1": .fcm, "browser": .webPush, "windows": .skipped(.wns),
            "mpns": .skipped(.mpns), "adm": .skipped(.adm), "baidu": .skipped(.baidu), "xiaomi": .skipped(.unknownType),
        ]
        var kinds: [String: ForeignProvider] = [:]
        for (platform, provider) in platforms {
            kinds["\(platform)registrationdescription"] = provider
            kinds["\(platform)templateregistrationdescription"] = provider
        }
        return kinds
    }()
}

extension ForeignRow {
    fileprivate static func registration(_ values: ForeignRow, tags: ForeignRow) -> ForeignRow {
        .scoped(["registration": values, "tag": tags])
    }

    /// An installation of the REST API as a registration; nil for an XML row. The channel of a browser is an object, or
    /// the JSON text of one.
    fileprivate var installation: ForeignRow? {
        guard case .json = self else { return nil }
        let platform = text("platform")?.lowercased() ?? ""
        var values = ["Tags": texts("tags").joined(separator: ",")]
        values["RegistrationKind"] =
            (["apns": "apple", "wns": "windows"][platform] ?? platform)
            + "RegistrationDescription"
        (values["ExpirationTime"], values["PushChannelExpired"]) = (text("expirationTime"), text("pushChannelExpired"))
        if platform == "browser", let channel = json("pushChannel"), let keys = ForeignRow(json: channel) {
            (values["Endpoint"], values["P256DH"], values["Auth"]) = (
                keys.text("endpoint"), keys.text("p256dh"), keys.text("auth")
            )
        } else {
            values["DeviceToken"] = text("pushChannel")
        }
        var tags: [String: String] = [:]
        (tags["installationid"], tags["userid"]) = (text("installationId"), text("userId"))
        return .registration(.named(values), tags: .named(tags))
    }
}

/// The tags of a registration: `$InstallationId:{…}` and `$UserId:{…}` are the hub's own, in any case. Tools that
/// import registrations again strip the dollar sign.
private struct AzureTags {
    private(set) var named = ForeignRow.named([:])
    private(set) var others: [String] = []

    init(_ text: String?) {
        var values: [String: String] = [:]
        for tag in (text ?? "").split(separator: ",").map({ $0.trimmingSpaces() }) where !tag.isEmpty {
            guard let (name, value) = Self.own(tag) else {
                if !others.contains(where: { $0.lowercased() == tag.lowercased() }) { others.append(tag) }
                continue
            }
            values[name] = values[name] ?? value
        }
        named = .named(values)
    }

    private static func own(_ tag: String) -> (name: String, value: String)? {
        let parts = tag.drop { $0 == "$" }.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let (name, value) = (parts[0].trimmingSpaces().lowercased(), parts[1].trimmingSpaces())
        guard ["installationid", "userid"].contains(name), value.first == "{", value.last == "}" else { return nil }
        return (name, value.dropFirst().dropLast().trimmingSpaces())
    }
}
