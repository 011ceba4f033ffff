import ArgumentParser
import PushRegistry
import Testing

@testable import push_registry

@Suite("Settings of the night job are applied or refused")
struct CleanUpSettingsTests {
    private func settings(_ values: [String: String]) throws -> CleanUpSettings {
        return try CleanUpSettings(SettingsReader(values))
    }

    @Test func defaultsApply_whenNothingIsSet() throws {
        let settings = try settings([:])
        #expect(settings.maxShare == 0.2)
        #expect(settings.historyRetention == .days(400))
    }

    @Test(arguments: [("35%", 0.35), ("1%", 0.01), ("100%", 1), ("0%", 0), ("0.5%", 0.005)])
    func share_isAPercentage(text: String, share: Double) throws {
        #expect(try settings(["cleanupMaxShare": text]).maxShare == share)
    }

    @Test func retention_isADuration() throws {
        for text in ["P730D", "730d", "PT17520H"] {
            #expect(try settings(["historyRetention": text]).historyRetention.description == "P730D")
        }
    }

    @Test(arguments: [
        ("cleanupMaxShare", "some"), ("cleanupMaxShare", "101%"), ("cleanupMaxShare", "-1%"),
        ("cleanupMaxShare", "nan%"),
        ("cleanupMaxShare", "1"), ("cleanupMaxShare", "0.2"), ("cleanupMaxShare", "20"), ("cleanupMaxShare", "%"),
        ("historyRetention", "400"), ("historyRetention", "PT23H"), ("historyRetention", "23h"),
        ("historyRetention", ""),
    ])
    func settingIsRefused_whenItIsInvalid(key: String, text: String) {
        #expect(throws: ValidationError.self) { try settings([key: text]) }
    }
}
