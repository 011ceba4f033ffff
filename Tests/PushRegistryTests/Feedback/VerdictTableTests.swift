import Foundation
import Testing

@testable import PushRegistry

@Suite("Only the documented error codes of providers have an effect (R9)")
struct VerdictTableTests {
    @Test(arguments: VerdictTable.rows)
    func verdict_setsItsState(row: VerdictTable.Row) throws {
        for provider in row.providers {
            let outcome = try LockedFeedback.outcome(
                of: .make(row.reason, provider: provider), on: .make(provider: provider))
            #expect(outcome == (row.verdict == .dead ? .unregistered : .suspect))
        }
    }

    @Test func table_hasTheExpectedRows() {
        let dead = VerdictTable.rows.filter { $0.verdict == .dead }
        #expect(dead.map(\.reason) == ["Unregistered", "ExpiredToken", "UNREGISTERED", "404", "410"])
        let doubtful = VerdictTable.rows.filter { $0.verdict == .doubtful }
        #expect(
            doubtful.map(\.reason) == [
                "BadDeviceToken", "DeviceTokenNotForTopic", "SENDER_ID_MISMATCH", "INVALID_ARGUMENT", "80300007",
            ])
    }

    @Test(
        "Another provider's code, another case, an error of the sender or the network",
        arguments: [
            (Provider.fcm, "Unregistered"), (.apns, "UNREGISTERED"), (.apns, "410"), (.apns, "unregistered"),
            (.apns, "TooManyRequests"), (.apns, "PayloadTooLarge"), (.fcm, "QUOTA_EXCEEDED"), (.webPush, "429"),
            (.huawei, ""),
        ])
    func code_changesNothing_whenItIsNotInTheTable(provider: Provider, reason: String) throws {
        let outcome = try LockedFeedback.outcome(of: .make(reason, provider: provider), on: .make(provider: provider))
        #expect(outcome == .ignored)
    }

    @Test func page_showsTheTable() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Command/push-registry/Documentation.docc/FeedbackVerdicts.md")
            .standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.contains("Version \(VerdictTable.version) of the table:"))
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        #expect(rows == VerdictTable.rows.map(\.line))
    }
}

extension VerdictTable.Row {
    /// The row in the page's format.
    fileprivate var line: String {
        let names = providers.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return "| \(names) | `\(reason)` | \(verdict.rawValue) | \(meaning) |"
    }
}
