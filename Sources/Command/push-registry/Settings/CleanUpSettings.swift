import ArgumentParser
import PushRegistry

/// The limits of the night job.
struct CleanUpSettings: Sendable {
    /// The largest share of an app's active and suspect installations that a run may retire, 0 to 1.
    var maxShare = CleanUpBreaker.standardShare
    /// At least a day: feedback and readers of the change feed need younger history.
    var historyRetention = ISO8601Duration.days(400)

    init(_ reader: SettingsReader) throws {
        if let text = reader.string("cleanupMaxShare") {
            guard let share = Self.share(text) else {
                throw reader.refusal("cleanupMaxShare", text, "a percentage from 0% to 100% with its sign, such as 20%")
            }
            maxShare = share
        }
        if let text = reader.string("historyRetention") {
            guard let retention = Self.retention(text) else {
                throw reader.refusal("historyRetention", text, "a duration such as P400D, at least P1D")
            }
            historyRetention = retention
        }
    }

    /// `20%`. A number without the sign is refused: 1 could mean 1% or 100%.
    private static func share(_ text: String) -> Double? {
        guard text.hasSuffix("%"), let number = Double(text.dropLast()), (0...100).contains(number) else { return nil }
        return number / 100
    }

    private static func retention(_ text: String) -> ISO8601Duration? {
        guard let duration = Duration(setting: text), duration >= .seconds(86_400),
            duration.components.seconds <= ISO8601Duration.secondsMax
        else { return nil }
        return ISO8601Duration(seconds: duration.components.seconds)
    }
}

/// The flags of `CleanUpSettings`.
struct CleanUpOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The largest share of an app's active installations that one run may retire (default: 20%).",
            valueName: "percent%"))
    var maxShare: String?

    @Option(
        help: ArgumentHelp("How long history is kept, in whole months (default: P400D).", valueName: "duration"))
    var historyRetention: String?

    /// The values by setting name.
    var flags: [String: String?] {
        ["cleanupMaxShare": maxShare, "historyRetention": historyRetention]
    }
}
