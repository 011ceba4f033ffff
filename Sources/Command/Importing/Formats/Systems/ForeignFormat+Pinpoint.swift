import PushRegistry

extension ForeignFormat {
    /// AWS Pinpoint's endpoints: the files of an export job (NDJSON), or the CSV with which it was filled.
    ///
    /// Source: Amazon Pinpoint user guide, "Exporting segments" and "Importing segments"; API reference,
    /// EndpointResponse.
    static let pinpoint = ForeignFormat(
        name: "pinpoint", system: "AWS Pinpoint",
        signatures: [["ChannelType", "Address"], ["EndpointStatus", "ChannelType"], ["Id", "ChannelType"]],
        wrappers: ["Item"],
        skips: [
            // Another endpoint took the address, or the endpoint failed.
            Rule(.inactive, "EndpointStatus", is: ["inactive"])
        ],
        optOuts: [Rule(.optedOut, "OptOut") { $0.lowercased() != "none" }],
        provider: "ChannelType",
        providers: [
            "apns": .provider(.apns), "apns_sandbox": .provider(.apnsSandbox), "gcm": .fcm,
            "apns_voip": .skipped(.voip), "apns_voip_sandbox": .skipped(.voip), "adm": .skipped(.adm),
            "sms": .skipped(.sms), "voice": .skipped(.voice), "email": .skipped(.email), "baidu": .skipped(.baidu),
            "custom": .skipped(.custom), "in_app": .skipped(.inApp), "push": .skipped(.unknownType),
        ],
        token: ["Address"],
        fields: [
            Field(.installID, "Id"), Field(.userID, "User.UserId"),
            // The clock of the client, which may be wrong.
            Field(.lastSeenAt, "EffectiveDate", as: .time), Field(.createdAt, "CreationDate", as: .time),
            Field(.locale, "Demographic.Locale"), Field(.timeZone, "Demographic.Timezone", as: .timeZone),
            Field(.systemName, "Demographic.Platform", as: .systemName),
            Field(.osVersion, "Demographic.PlatformVersion"),
            Field(.appVersion, "Demographic.AppVersion"), Field(.deviceModel, "Demographic.Model"),
            Field(.region, "Location.Country"),
        ],
        coordinates: (latitude: "Location.Latitude", longitude: "Location.Longitude"))
}
