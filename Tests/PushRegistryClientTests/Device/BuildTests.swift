import Foundation
import Testing

@testable import PushRegistryClient

@Suite("What a build says about itself")
struct BuildTests {
    @Test(
        arguments: [
            (nil, .apns),
            ("<key>aps-environment</key>\n\t<string>development</string>", .apnsSandbox),
            ("<key>aps-environment</key><string>production</string>", .apns),
            // Profiles for the Mac have a longer name.
            ("<key>com.apple.developer.aps-environment</key>\n\t<string>development</string>", .apnsSandbox),
            ("<key>com.apple.developer.aps-environment</key>\n\t<string>production</string>", .apns),
            ("<key>get-task-allow</key><true/>", .apns),
        ] as [(String?, PushRegistryClient.Provider)])
    func provider_isThatOfTheProvisioningProfile(_ entry: String?, _ expected: PushRegistryClient.Provider) {
        let profile = entry.map { Data([0x30, 0x82, 0xff]) + Data("<dict>\($0)</dict>".utf8) + Data([0xfe]) }
        #expect(PushRegistryClient.Provider.ofBuild(provisioningProfile: profile) == expected)
    }

    /// The registry links the token and the device with the user in the JWT, and receipts say what a person opened.
    @Test func privacyManifest_namesAllThatIsSent() throws {
        let file = Toolchain.packageRoot.appending(path: "Sources/Client/PushRegistryClient/PrivacyInfo.xcprivacy")
        let manifest = try PropertyListDecoder().decode(PrivacyManifest.self, from: Data(contentsOf: file))
        #expect(
            Set(manifest.collected.map(\.type)) == [
                "NSPrivacyCollectedDataTypeDeviceID", "NSPrivacyCollectedDataTypeUserID",
                "NSPrivacyCollectedDataTypeProductInteraction",
            ])
        #expect(manifest.collected.allSatisfy { $0.isLinked && !$0.isTracking })
    }

    private struct PrivacyManifest: Decodable {
        struct Collected: Decodable {
            enum CodingKeys: String, CodingKey {
                case type = "NSPrivacyCollectedDataType"
                case isLinked = "NSPrivacyCollectedDataTypeLinked"
                case isTracking = "NSPrivacyCollectedDataTypeTracking"
            }

            var type: String
            var isLinked: Bool
            var isTracking: Bool
        }

        enum CodingKeys: String, CodingKey { case collected = "NSPrivacyCollectedDataTypes" }

        var collected: [Collected]
    }
}
