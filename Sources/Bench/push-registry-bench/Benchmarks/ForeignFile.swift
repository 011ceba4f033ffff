/// A file of another system with the installations of the table `installation`: one row for each one of APNs and FCM.
struct ForeignFile: Sendable {
    let system: String
    let name: String
    /// The header of CSV.
    var header: String?
    /// An expression over `installation`: a line.
    let line: String
    var arguments: [String] = []

    /// The rows that every system has.
    static let condition = "provider IN ('apns', 'fcm')"

    static let all: [ForeignFile] = [oneSignal, pinpoint, sns, parse, airship, azure, braze]

    private static let isApple = "provider = 'apns'"
    private static let seen = "to_char(last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')"
    private static let production = ["--environment", "production"]

    private static func object(_ members: (String, String)...) -> String {
        "json_strip_nulls(json_build_object(" + members.map { "'\($0.0)', \($0.1)" }.joined(separator: ", ") + "))"
    }

    private static let oneSignal = ForeignFile(
        system: "onesignal", name: "onesignal.csv",
        header: "id,identifier,device_type,language,timezone_id,device_os,device_model,game_version,last_active,"
            + "invalid_identifier,notification_types,country,external_user_id",
        line: """
            install_id || ',' || token || ',' || CASE WHEN \(isApple) THEN 0 ELSE 1 END || ',' || left(locale, 2) || ','
            || time_zone_id || ',' || system_version || ',"' || device_model || '",' || coalesce(app_version, '') || ','
            || \(seen) || ',f,1,' || coalesce(region, '') || ',' || coalesce(user_id, '')
            """, arguments: production)

    private static let pinpoint = ForeignFile(
        system: "pinpoint", name: "pinpoint.ndjson",
        line: object(
            ("ChannelType", "CASE WHEN \(isApple) THEN 'APNS' ELSE 'GCM' END"), ("Address", "token"),
            ("Id", "install_id"),
            ("EndpointStatus", "'ACTIVE'"), ("OptOut", "'NONE'"), ("EffectiveDate", seen),
            (
                "Demographic",
                object(
                    ("Locale", "locale"), ("Timezone", "time_zone_id"), ("Platform", "system_name"),
                    ("PlatformVersion", "system_version"), ("AppVersion", "app_version"), ("Model", "device_model"))
            ), ("User", object(("UserId", "user_id")))))

    private static let sns = ForeignFile(
        system: "sns", name: "sns.ndjson",
        line: object(
            (
                "EndpointArn",
                "'arn:aws:sns:us-east-1:1:endpoint/' || CASE WHEN \(isApple) THEN 'APNS' ELSE 'GCM' END || '/a/' "
                    + "|| install_id"
            ),
            (
                "Attributes",
                object(("Token", "token"), ("Enabled", "'true'"), ("CustomUserData", "user_id"))
            )), arguments: ["--last-seen", "2026-11-01", "--user", "CustomUserData"])

    private static let parse = ForeignFile(
        system: "parse", name: "parse.ndjson",
        line: object(
            ("installationId", "install_id"), ("deviceToken", "token"),
            ("deviceType", "CASE WHEN \(isApple) THEN 'ios' ELSE 'android' END"), ("timeZone", "time_zone_id"),
            ("localeIdentifier", "locale"), ("appVersion", "app_version"), ("appIdentifier", "'a'"),
            ("_p_user", "'_User$' || user_id"), ("_updated_at", object(("$date", seen)))), arguments: production)

    private static let airship = ForeignFile(
        system: "airship", name: "airship.ndjson",
        line: object(
            ("channel_id", "install_id"), ("push_address", "token"), ("installed", "true"), ("opt_in", "true"),
            ("device_type", "CASE WHEN \(isApple) THEN 'ios' ELSE 'android' END"), ("named_user_id", "user_id"),
            ("last_registration", seen), ("tags", "'[]'::json"),
            ("tag_groups", object(("timezone", "ARRAY[time_zone_id]"), ("ua_ios_version", "ARRAY[system_version]")))),
        arguments: production)

    private static let azure = ForeignFile(
        system: "azure", name: "azure.xml",
        line: """
            CASE WHEN \(isApple) THEN '<AppleRegistrationDescription>' ELSE '<FcmV1RegistrationDescription>' END
            || '<ExpirationTime>9999-12-31T23:59:59.9999999Z</ExpirationTime><Tags>$InstallationId:{' || install_id
            || '}' || coalesce(',$UserId:{' || user_id || '}', '') || '</Tags>' || CASE WHEN \(isApple)
                THEN '<DeviceToken>' || token || '</DeviceToken></AppleRegistrationDescription>'
                ELSE '<FcmV1RegistrationId>' || token || '</FcmV1RegistrationId></FcmV1RegistrationDescription>' END
            """, arguments: production + ["--last-seen", "2026-11-01"])

    private static let braze = ForeignFile(
        system: "braze", name: "braze.ndjson",
        line: object(
            ("external_id", "user_id"), ("braze_id", "install_id"), ("language", "left(locale, 2)"),
            ("time_zone", "time_zone_id"),
            (
                "push_tokens",
                "json_build_array("
                    + object(
                        ("app", "'a'"), ("platform", "CASE WHEN \(isApple) THEN 'iOS' ELSE 'Android' END"),
                        ("token", "token"), ("device_id", "install_id"), ("notifications_enabled", "true")) + ")"
            ),
            (
                "devices",
                "json_build_array("
                    + object(("device_id", "install_id"), ("model", "device_model"), ("os", "system_version")) + ")"
            ),
            (
                "apps",
                "json_build_array("
                    + object(("name", "'a'"), ("version", "app_version"), ("last_used", seen)) + ")"
            )), arguments: production)
}
