import Foundation

extension PushRegistryClient {
    /// The service that delivers pushes to an installation.
    public enum Provider: String, Sendable, Hashable, Codable {
        case apns
        /// Tokens of builds whose entitlement for pushes is `development`.
        case apnsSandbox
        case fcm
        case huawei
    }

    /// A token and its provider. It prints as `‹token›`.
    struct DeviceToken: Sendable, Hashable, CustomStringConvertible {
        let text: String
        let provider: Provider

        var description: String { "‹token›" }
    }
}

extension PushRegistryClient.Provider {
    /// The provider of this build's tokens on Apple platforms.
    ///
    /// - Parameter profile: the content of the embedded provisioning profile, or nil without one, as in builds from
    ///   the App Store.
    static func ofBuild(provisioningProfile profile: Data?) -> Self {
        guard let profile else { return .apns }
        // The profile is a signed property list: text between binary parts. The entitlement of Mac apps has the long
        // name.
        let text = String(decoding: profile, as: UTF8.self)
        let entry = #/<key>(?:com\.apple\.developer\.)?aps-environment</key>\s*<string>([a-z]+)</string>/#
        return text.firstMatch(of: entry)?.1 == "development" ? .apnsSandbox : .apns
    }

    /// The provider of the running app's tokens.
    static var ofThisBuild: Self {
        #if targetEnvironment(simulator)
        return .apnsSandbox
        #else
        #if os(macOS) || targetEnvironment(macCatalyst)
        let profile = Bundle.main.bundleURL.appendingPathComponent("Contents/embedded.provisionprofile")
        #else
        let profile = Bundle.main.bundleURL.appendingPathComponent("embedded.mobileprovision")
        #endif
        return ofBuild(provisioningProfile: try? Data(contentsOf: profile))
        #endif
    }
}
