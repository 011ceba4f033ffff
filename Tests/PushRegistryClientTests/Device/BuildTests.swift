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
        let types = manifest.NSPrivacyCollectedDataTypes
        #expect(
            Set(types.map(\.NSPrivacyCollectedDataType)) == [
                "NSPrivacyCollectedDataTypeDeviceID", "NSPrivacyCollectedDataTypeUserID",
                "NSPrivacyCollectedDataTypeProductInteraction",
            ])
        #expect(types.allSatisfy { $0.NSPrivacyCollectedDataTypeLinked && !$0.NSPrivacyCollectedDataTypeTracking })
    }

    private struct PrivacyManifest: Decodable {
        struct Collected: Decodable {
            var NSPrivacyCollectedDataType: String
            var NSPrivacyCollectedDataTypeLinked: Bool
            var NSPrivacyCollectedDataTypeTracking: Bool
        }

        var NSPrivacyCollectedDataTypes: [Collected]
    }
}
