import Foundation
import Testing

@testable import PushRegistry

@Suite("Only the documented error codes of providers have an effect (R9)")
struct VerdictTableTests {
    @Test(arguments: VerdictTable.rows)
    func verdict_setsItsState(row: VerdictTable.Row) throws {
        for provider in row.providers {
            let outcome = try LockedFeedback.outcome(
                of: .make(row.reason, provider: provider, at: row.requiresTime ? noon : nil),
                on: .make(provider: provider))
            #expect(outcome == (row.verdict == .dead ? .unregistered : .suspect))
        }
    }

    @Test(arguments: [Provider.apns, .apnsSandbox])
    func statusOfAPNs_countsOnlyWithItsTime(provider: Provider) throws {
        let phone = try Installation.make(provider: provider)
        for named in [provider, nil] {
            let (timed, untimed) = try (
                FeedbackItem.make("410", installID: "phone", provider: named, at: noon),
                FeedbackItem.make("410", installID: "phone", provider: named)
            )
            #expect(try LockedFeedback.outcome(of: timed, on: phone) == .unregistered)
            #expect(try LockedFeedback.outcome(of: untimed, on: phone) == .ignored)
        }
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

@Suite("Reasons outside the table are reported with their numbers")
struct IgnoredReasonTests {
    private func reasons(_ items: [FeedbackItem]) throws -> [String] {
        var locked = try LockedFeedback.make([.make()])
        for item in items { locked.apply(item) }
        return locked.counts.ignoredReasons.map { "\($0.reason) \($0.count)" }
    }

    @Test func mostFrequentReasons_comeFirst() throws {
        let few = try ["b", "a", "c", "b", "c", "c"].map { try FeedbackItem.make($0) }
        #expect(try reasons(few) == ["c 3", "b 2", "a 1"])
        let many = try (0..<30).flatMap { number in
            try (0...number).map { _ in try FeedbackItem.make("reason \(number)", token: 9) }
        }
        #expect(try reasons(many) == (10..<30).reversed().map { "reason \($0) \($0 + 1)" })
    }

    @Test func reasons_areComparedByTheirBytes() throws {
        let found = try reasons(["caf\u{E9}", "cafe\u{301}", "cafe\u{301}"].map { try FeedbackItem.make($0) })
        #expect(found == ["cafe\u{301} 2", "caf\u{E9} 1"])
    }

    /// The second `Unregistered` tells nothing new, an APNs status without a time is not evidence, and `Gone` is a
    /// reason of another provider.
    @Test func reasonsOfTheTable_areNotListed() throws {
        let items: [FeedbackItem] = try [
            .make(), .make(), .make("410"), .make("BadDeviceToken"), .make("Gone"),
            .make("NotRegistered", token: nil, installID: "phone", provider: nil),
            .make("404", token: nil, installID: "stranger", provider: nil),
            .make("none", token: nil, installID: "stranger", provider: nil),
        ]
        #expect(try reasons(items) == ["Gone 1", "NotRegistered 1", "none 1"])
    }

    @Test func reasonsAreBounded_inNumberAndLength() throws {
        let long = String(repeating: "é", count: 200)
        let cut = String(repeating: "é", count: FeedbackCounts.reasonScalarsMax) + "…"
        #expect(try reasons([.make(long), .make(long + "x")]) == ["\(cut) 2"])
        let exact = String(repeating: "é", count: FeedbackCounts.reasonScalarsMax)
        #expect(try reasons([.make(exact)]) == ["\(exact) 1"])
        let strange = try (0..<2 * FeedbackCounts.reasonsMax).map { try FeedbackItem.make("\($0)") }
        let late = try (0..<3).map { _ in try FeedbackItem.make("late") }
        #expect(try !reasons(strange + late).contains("late 3"))
        #expect(try reasons(strange.prefix(FeedbackCounts.reasonsMax - 1) + late).contains("late 3"))
    }
}

extension VerdictTable.Row {
    /// The row in the page's format.
    fileprivate var line: String {
        let names = providers.map { "`\($0.rawValue)`" }.joined(separator: ", ")
        return "| \(names) | `\(reason)` | \(verdict.rawValue) | \(meaning) |"
    }
}
