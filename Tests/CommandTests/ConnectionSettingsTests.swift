import ArgumentParser
import Basics
import HTTPServer
import Testing

@testable import push_registry

@Suite("Settings of connections are applied or refused")
struct ConnectionSettingsTests {
    private func configuration(_ values: [String: String]) throws -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(addresses: [])
        try ConnectionSettings(SettingsReader(values)).apply(to: &configuration)
        return configuration
    }

    @Test func defaultsApply_whenNothingIsSet() throws {
        let configuration = try configuration([:])
        #expect(configuration.trustedProxies.isEmpty && configuration.connectionsPerAddressMax == nil)
        #expect(configuration.connectionsMax == 20_000)
        #expect(configuration.timeouts.idle == .seconds(75) && configuration.timeouts.head == .seconds(10))
    }

    @Test func everyValueIsApplied_whenAllAreSet() throws {
        let configuration = try configuration([
            "trustedProxies": "10.0.0.0/8, fd00::/8,192.0.2.1", "connectionsMax": "7", "connectionsPerAddressMax": "3",
            "headDeadline": "1500ms", "bodyDeadline": "PT2S", "handlerDeadline": "3s", "writeDeadline": "4s",
            "idleDeadline": "PT5M", "drainDeadline": "1h",
        ])
        #expect(
            configuration.trustedProxies == ["10.0.0.0/8", "fd00::/8", "192.0.2.1"].compactMap { AddressRange($0) })
        #expect(configuration.connectionsMax == 7 && configuration.connectionsPerAddressMax == 3)
        let timeouts = configuration.timeouts
        #expect(timeouts.head == .milliseconds(1_500) && timeouts.body == .seconds(2))
        #expect(timeouts.handler == .seconds(3) && timeouts.write == .seconds(4))
        #expect(timeouts.idle == .seconds(300) && timeouts.drain == .seconds(3_600))
    }

    @Test(arguments: [
        ("trustedProxies", "proxy.example"), ("trustedProxies", "10.0.0.0/33"), ("connectionsMax", "0"),
        ("connectionsMax", "many"), ("connectionsPerAddressMax", "-1"), ("headDeadline", "10"), ("headDeadline", "0s"),
        ("bodyDeadline", "61m"), ("idleDeadline", "2h"), ("idleDeadline", "PT61M"), ("idleDeadline", "P1M"),
        ("writeDeadline", "-1s"), ("drainDeadline", "9999999999s"),
        ("handlerDeadline", ""), ("handlerDeadline", "1.5s"), ("drainDelay", "soon"), ("drainDelay", "61m"),
    ])
    func settingIsRefused_whenItIsInvalid(key: String, text: String) {
        #expect(throws: ValidationError.self) { try configuration([key: text]) }
    }
}
