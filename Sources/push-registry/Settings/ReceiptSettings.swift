import ArgumentParser
import PushRegistry

/// How often one address may send receipts.
struct ReceiptSettings: Sendable {
    /// Nil: without limit.
    var limit: AppPolicy.RateLimit?

    init(_ reader: SettingsReader) throws {
        let rate = try reader.count("receiptRate", 0...1_000_000) ?? 50
        let burst = try reader.count("receiptBurst", 0...1_000_000) ?? 500
        limit = rate > 0 && burst > 0 ? AppPolicy.RateLimit(rate: Double(rate), burst: burst) : nil
    }
}

/// The flags of `ReceiptSettings`.
struct ReceiptOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Calls with receipts per second and address; 0: no limit (default: 50).", valueName: "count"))
    var receiptRate: String?

    @Option(
        help: ArgumentHelp(
            "Calls with receipts of an address at once; 0: no limit (default: 500).", valueName: "count"))
    var receiptBurst: String?

    /// The values by setting name.
    var flags: [String: String?] { ["receiptRate": receiptRate, "receiptBurst": receiptBurst] }
}
