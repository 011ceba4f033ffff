import ArgumentParser
import Basics
import HTTPServer
import HTTPWire
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore
import Testing

@testable import push_registry

@Suite("The value of a setting is applied, or refused with a reason")
struct SettingValueTests {
    private func settings(_ values: [String: String]) throws -> Settings {
        try Settings(SettingsReader(values))
    }

    @Test func defaultsApply_whenNothingIsSet() throws {
        let settings = try settings([:])
        let (server, limits) = (settings.server, settings.audiences.limits)
        #expect(server.addresses.map(\.description) == ["127.0.0.1:8080"] && settings.dataDirectory == ".push-registry")
        #expect(server.trustedProxies.isEmpty && server.connectionsPerAddressMax == nil)
        #expect(server.connectionsMax == 20_000)
        #expect(server.timeouts.idle == .seconds(75) && server.timeouts.head == .seconds(10))
        #expect(settings.drainDelay == .zero && settings.accessLogInterval == 1 && settings.logLevel == .info)
        #expect(
            server.wireLimits.targetBytesMax == 8_192 && server.wireLimits.headerBytesMax == 32_768
                && server.wireLimits.fieldsMax == 100)
        #expect(settings.bodies.registrationBytesMax == 65_536 && settings.bodies.feedbackBytesMax == 8_388_608)
        #expect(limits.statementTimeout == .seconds(20) && limits.exportDeadline == .seconds(900))
        #expect(limits.connections == 4 && !settings.allowsPrivateAddresses)
        #expect(settings.receipts == .init(rate: 50, burst: 500))
        #expect(settings.failedAuthentications == .init(rate: 10, burst: 100))
        #expect(settings.retiredShareMax == 0.2 && settings.historyRetention == .days(400))
    }

    @Test func provider_needsAnIssuerAndAClient() throws {
        #expect(try settings([:]).signIn.provider() == nil)
        var values = ["oidcIssuer": "https://login.example.com/realms/main", "oidcClientId": "console"]
        let standard = try #require(try settings(values).signIn.provider())
        #expect(standard.issuer == "https://login.example.com/realms/main")
        for missing in values.keys {
            let some = values.filter { $0.key != missing }
            #expect(throws: ValidationError.self) { try settings(some).signIn.provider() }
        }
        for issuer in ["http://login.example.com", "login", "https://a.example/?b", "https://a.example/#b"] {
            values["oidcIssuer"] = issuer
            #expect(throws: ValidationError.self, "\(issuer)") { try settings(values).signIn.provider() }
        }
        values["oidcIssuer"] = "http://localhost:8080/"
        #expect(try settings(values).signIn.provider() != nil)
        #expect(throws: ValidationError.self) { try settings(["oidcScopes": "profile email"]) }
    }

    @Test func everyValueOfConnectionsIsApplied_whenAllAreSet() throws {
        let server = try settings([
            "trustedProxies": "10.0.0.0/8, fd00::/8,192.0.2.1", "connectionsMax": "7", "connectionsPerAddressMax": "3",
            "headDeadline": "1500ms", "bodyDeadline": "PT2S", "handlerDeadline": "3s", "writeDeadline": "4s",
            "idleDeadline": "PT5M", "drainDeadline": "1h",
        ]).server
        #expect(server.trustedProxies == ["10.0.0.0/8", "fd00::/8", "192.0.2.1"].compactMap { AddressRange($0) })
        #expect(server.connectionsMax == 7 && server.connectionsPerAddressMax == 3)
        let timeouts = server.timeouts
        #expect(timeouts.head == .milliseconds(1_500) && timeouts.body == .seconds(2))
        #expect(timeouts.handler == .seconds(3) && timeouts.write == .seconds(4))
        #expect(timeouts.idle == .seconds(300) && timeouts.drain == .seconds(3_600))
    }

    @Test func everySizeIsApplied_whenAllAreSet() throws {
        let settings = try settings([
            "targetMax": "8000", "headerMax": "16KiB", "headerFieldsMax": "50", "registrationMax": "128KiB",
            "feedbackMax": "1MiB",
        ])
        let wire = settings.server.wireLimits
        #expect(wire.targetBytesMax == 8_000 && wire.headerBytesMax == 16_384 && wire.fieldsMax == 50)
        #expect(settings.bodies.registrationBytesMax == 131_072 && settings.bodies.feedbackBytesMax == 1_048_576)
    }

    @Test func headIsTakenWhole_whenItMayBeLarge() throws {
        #expect(try settings(["headerMax": "512KiB"]).server.pipelinedBytesMax > 512 * 1024)
    }

    @Test(arguments: [("35%", 0.35), ("1%", 0.01), ("100%", 1), ("0%", 0), ("0.5%", 0.005)])
    func share_isAPercentage(text: String, share: Double) throws {
        #expect(try settings(["cleanupMaxShare": text]).retiredShareMax == share)
    }

    @Test func retention_isADuration() throws {
        for text in ["P730D", "730d", "PT17520H"] {
            #expect(try settings(["historyRetention": text]).historyRetention.description == "P730D")
        }
    }

    @Test(arguments: [
        ("trustedProxies", "proxy.example"), ("trustedProxies", "10.0.0.0/33"), ("connectionsMax", "0"),
        ("connectionsMax", "many"), ("connectionsPerAddressMax", "-1"), ("headDeadline", "10"), ("headDeadline", "0s"),
        ("bodyDeadline", "61m"), ("idleDeadline", "2h"), ("idleDeadline", "PT61M"), ("idleDeadline", "P1M"),
        ("writeDeadline", "-1s"), ("drainDeadline", "9999999999s"),
        ("handlerDeadline", ""), ("handlerDeadline", "1.5s"), ("drainDelay", "soon"), ("drainDelay", "61m"),
        ("cleanupMaxShare", "some"), ("cleanupMaxShare", "101%"), ("cleanupMaxShare", "-1%"),
        ("cleanupMaxShare", "nan%"), ("cleanupMaxShare", "1e2%"), ("cleanupMaxShare", "+5%"),
        ("cleanupMaxShare", "0x10%"), ("cleanupMaxShare", ".5%"), ("cleanupMaxShare", "5 %"),
        ("cleanupMaxShare", "1"), ("cleanupMaxShare", "0.2"), ("cleanupMaxShare", "20"), ("cleanupMaxShare", "%"),
        ("historyRetention", "400"), ("historyRetention", "PT23H"), ("historyRetention", "23h"),
        ("historyRetention", ""),
        ("targetMax", "10"), ("targetMax", "8 KiB"), ("headerMax", "32KB"), ("headerMax", "2MiB"),
        ("headerFieldsMax", "1MiB"), ("registrationMax", "-1"), ("registrationMax", ""), ("feedbackMax", "1GiB"),
        ("feedbackMax", "99999999999999999999"), ("jwksPrivateAddresses", "maybe"),
        ("consoleOrigin", "http://a.example"),
    ])
    func settingIsRefused_whenItIsInvalid(key: String, text: String) {
        #expect(throws: ValidationError.self) { try settings([key: text]) }
    }

    /// The flags are made from the table.
    @Test func everyFlag_isAnOptionOfConfig() throws {
        for setting in Setting.all {
            guard let flag = setting.flag else { continue }
            let command = try ConfigCommand.parse([flag, "x"])
            let texts = [command.common.flags.texts, command.serving.texts, command.nightJob.texts]
            #expect(texts.flatMap(\.keys) == [setting.name])
        }
    }
}
