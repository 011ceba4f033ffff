import ArgumentParser
import Configuration
import PushRegistry

/// How far the night job may go.
struct CleanUpSettings: Sendable {
    /// Of an app's active and suspect installations, 0 to 1.
    var maxShare = CleanUpBreaker.standardShare
    /// At least a day: history younger than that is what feedback and readers of changes live on.
    var historyRetention = ISO8601Duration.days(400)

    init(_ reader: ConfigReader) throws {
        if let text = reader.string(forKey: "cleanupMaxShare") { maxShare = try Self.share(text) }
        if let text = reader.string(forKey: "historyRetention") { historyRetention = try Self.retention(text) }
    }

    /// `20%`, or `0.2`.
    private static func share(_ text: String) throws -> Double {
        let isPercentage = text.hasSuffix("%")
        if let number = Double(isPercentage ? String(text.dropLast()) : text) {
            // 20 can only be meant as a percentage; 1 is all, as a fraction is.
            let share = isPercentage || number > 1 ? number / 100 : number
            if (0...1).contains(share) { return share }
        }
        throw ValidationError("The clean-up's share is a percentage such as 20%, 0% to 100%, not \(text).")
    }

    private static func retention(_ text: String) throws -> ISO8601Duration {
        guard let duration = try? ISO8601Duration(text), duration >= .days(1) else {
            throw ValidationError("The history's retention is a time such as P400D, at least P1D, not \(text).")
        }
        return duration
    }
}

/// The flags of `CleanUpSettings`.
struct CleanUpOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The share of an app's active installations that one run may judge to be gone (default: 20%).",
            valueName: "percent%"))
    var maxShare: String?

    @Option(
        help: ArgumentHelp("How long history is kept, in whole months (default: P400D).", valueName: "duration"))
    var historyRetention: String?

    /// The settings by their names in the file.
    var flags: [String: String?] {
        ["cleanupMaxShare": maxShare, "historyRetention": historyRetention]
    }
}
