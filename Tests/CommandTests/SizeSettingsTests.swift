import ArgumentParser
import HTTPServer
import HTTPWire
import RegistryAPI
import Testing

@testable import push_registry

@Suite("Sizes and limits reach the server, or are refused with a reason")
struct SizeSettingsTests {
    private func settings(_ values: [String: String]) throws -> SizeSettings {
        return try SizeSettings(SettingsReader(values))
    }

    @Test func standardsAreThoseOfTheAPI_whenNothingIsSet() throws {
        let sizes = try settings([:])
        #expect(
            sizes.wire.targetBytesMax == 8_192 && sizes.wire.headerBytesMax == 32_768 && sizes.wire.fieldsMax == 100)
        #expect(sizes.bodies.registrationBytesMax == 65_536 && sizes.bodies.feedbackBytesMax == 8_388_608)
    }

    @Test func everyValueIsApplied_whenAllAreSet() throws {
        let sizes = try settings([
            "targetMax": "8000", "headerMax": "16KiB", "headerFieldsMax": "50", "registrationMax": "128KiB",
            "feedbackMax": "1MiB",
        ])
        #expect(sizes.wire.targetBytesMax == 8_000 && sizes.wire.headerBytesMax == 16_384 && sizes.wire.fieldsMax == 50)
        #expect(sizes.bodies.registrationBytesMax == 131_072 && sizes.bodies.feedbackBytesMax == 1_048_576)
    }

    @Test func headIsTakenWhole_whenItMayBeLarge() throws {
        var configuration = HTTPServerConfiguration(addresses: [])
        try settings(["headerMax": "512KiB"]).apply(to: &configuration)
        #expect(configuration.pipelinedBytesMax > 512 * 1024)
    }

    @Test(arguments: [
        ("targetMax", "10"), ("targetMax", "8 KiB"), ("headerMax", "32KB"), ("headerMax", "2MiB"),
        ("headerFieldsMax", "1MiB"), ("registrationMax", "-1"), ("registrationMax", ""), ("feedbackMax", "1GiB"),
        ("feedbackMax", "99999999999999999999"),
    ])
    func settingIsRefused_whenItIsInvalid(key: String, text: String) {
        #expect(throws: ValidationError.self) { try settings([key: text]) }
    }
}
