import ArgumentParser
import Configuration
import PushRegistry
import Testing

@testable import push_registry

@Suite("Settings of the night job reach it, or say what is wrong with them")
struct CleanUpSettingsTests {
    private func settings(_ values: [String: String]) throws -> CleanUpSettings {
        let values = values.map { (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: false)) }
        let provider = InMemoryProvider(values: Dictionary(uniqueKeysWithValues: values))
        return try CleanUpSettings(ConfigReader(provider: provider))
    }

    @Test func standardsHold_whenNothingIsSet() throws {
        let settings = try settings([:])
        #expect(settings.maxShare == 0.2)
        #expect(settings.historyRetention == .days(400))
    }

    @Test(arguments: [("35%", 0.35), ("0.35", 0.35), ("35", 0.35), ("1", 1), ("0", 0), ("0.5%", 0.005)])
    func share_isAPercentageOrAFraction(text: String, share: Double) throws {
        #expect(try settings(["cleanupMaxShare": text]).maxShare == share)
    }

    @Test func retention_isADuration() throws {
        #expect(try settings(["historyRetention": "P730D"]).historyRetention.description == "P730D")
    }

    @Test(arguments: [
        ("cleanupMaxShare", "some"), ("cleanupMaxShare", "101%"), ("cleanupMaxShare", "-1"), ("cleanupMaxShare", "nan"),
        ("historyRetention", "400"), ("historyRetention", "PT23H"), ("historyRetention", ""),
    ])
    func settingIsRefused_whenItDoesNotFit(key: String, text: String) {
        #expect(throws: ValidationError.self) { try settings([key: text]) }
    }
}
