import ArgumentParser
import PushRegistry

/// How often one address may send receipts, and how often it may fail to authenticate.
struct AddressLimitSettings: Sendable {
    /// Nil: without limit.
    var receipts: AppPolicy.RateLimit?
    var failedAuthentications: AppPolicy.RateLimit?

    init(_ reader: SettingsReader) throws {
        receipts = try reader.rateLimit("receiptRate", 50, "receiptBurst", 500)
        failedAuthentications = try reader.rateLimit("failedAuthenticationRate", 10, "failedAuthenticationBurst", 100)
    }
}

extension SettingsReader {
    /// The limit of two settings, with their defaults; nil if one of them is 0.
    fileprivate func rateLimit(
        _ rateName: String, _ standardRate: Int, _ burstName: String, _ standardBurst: Int
    ) throws -> AppPolicy.RateLimit? {
        let rate = try count(rateName, 0...1_000_000) ?? standardRate
        let burst = try count(burstName, 0...1_000_000) ?? standardBurst
        return rate > 0 && burst > 0 ? AppPolicy.RateLimit(rate: Double(rate), burst: burst) : nil
    }
}

/// The flags of `AddressLimitSettings`.
struct AddressLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Calls with receipts per second and address; 0: no limit (default: 50).", valueName: "count"))
    var receiptRate: String?

    @Option(
        help: ArgumentHelp(
            "Calls with receipts of an address at once; 0: no limit (default: 500).", valueName: "count"))
    var receiptBurst: String?

    @Option(
        help: ArgumentHelp(
            "Failed authentications per second and address; 0: no limit (default: 10).", valueName: "count"))
    var failedAuthenticationRate: String?

    @Option(
        help: ArgumentHelp(
            "Failed authentications of an address at once; 0: no limit (default: 100).", valueName: "count"))
    var failedAuthenticationBurst: String?

    /// The values by setting name.
    var flags: [String: String?] {
        [
            "receiptRate": receiptRate, "receiptBurst": receiptBurst,
            "failedAuthenticationRate": failedAuthenticationRate,
            "failedAuthenticationBurst": failedAuthenticationBurst,
        ]
    }
}
