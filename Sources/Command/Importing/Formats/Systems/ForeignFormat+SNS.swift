import PushRegistry

extension ForeignFormat {
    /// The endpoints of an AWS SNS platform application: what
    /// `aws sns list-endpoints-by-platform-application` prints. All values are texts. There is no date.
    ///
    /// Source: Amazon SNS API reference, ListEndpointsByPlatformApplication and GetEndpointAttributes.
    static let sns = ForeignFormat(
        name: "sns", system: "AWS SNS",
        signatures: [["EndpointArn"]],
        wrappers: ["Endpoints"],
        expand: { row in [.scoped(["endpoint": row, "arn": .parts(of: row.text("EndpointArn"))])] },
        prefixes: ["endpoint.Attributes.", "endpoint."],
        skips: [.unset(.disabled, "endpoint.Attributes.Enabled")],
        provider: "arn.platform",
        providers: [
            "apns": .provider(.apns), "apns_sandbox": .provider(.apnsSandbox), "gcm": .fcm,
            "apns_voip": .skipped(.voip), "apns_voip_sandbox": .skipped(.voip), "macos": .skipped(.foreignToken),
            "macos_sandbox": .skipped(.foreignToken), "adm": .skipped(.adm), "baidu": .skipped(.baidu),
            "wns": .skipped(.wns), "mpns": .skipped(.mpns),
        ],
        token: ["endpoint.Attributes.Token"],
        fields: [Field(.installID, "arn.id")])
}

extension ForeignRow {
    /// The parts of `arn:aws:sns:REGION:ACCOUNT:endpoint/PLATFORM/APPLICATION/ID`.
    fileprivate static func parts(of arn: String?) -> ForeignRow {
        guard let resource = (arn ?? "").utf8.split(separator: UInt8(ascii: ":"), maxSplits: 5).last else {
            return .named([:])
        }
        let parts = resource.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        guard parts.count == 4, parts[0] == "endpoint" else { return .named([:]) }
        return .named(["platform": parts[1], "application": parts[2], "id": parts[3]])
    }
}
