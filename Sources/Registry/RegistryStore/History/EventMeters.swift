import Metrics
import PushRegistry

/// Counts the events that this process wrote, by kind and reason. The rules define both, so there are few series.
enum EventMeters {
    private struct Change: Hashable {
        let kind: EventKind
        let reason: TokenEvent.Reason
    }

    /// Call it once the events are committed.
    static func count(_ events: some Sequence<TokenEvent>) {
        count(changes: events.lazy.map { ($0.kind, $0.reason) })
    }

    /// Call it once the events are committed.
    static func count(changes: some Sequence<(EventKind, TokenEvent.Reason)>) {
        var counts: [Change: Int] = [:]
        for (kind, reason) in changes { counts[Change(kind: kind, reason: reason), default: 0] += 1 }
        for (change, times) in counts { count(change.kind, change.reason, times: times) }
    }

    /// Call it once the events are committed.
    static func count(_ events: [TopicsEvent]) {
        for (reason, events) in Dictionary(grouping: events, by: \.reason) {
            count(.topicsChanged, reason, times: events.count)
        }
    }

    /// Counts typed tokens that verdicts removed, which have no events. Call it once they are committed.
    static func count(removed tokens: [TokenKind: Int]) {
        for (kind, times) in tokens {
            Counter(label: "typed_tokens_removed_total", dimensions: [("kind", kind.rawValue)])
                .increment(by: times)
        }
    }

    static func count(_ kind: EventKind, _ reason: TokenEvent.Reason, times: Int) {
        guard times > 0 else { return }
        Counter(
            label: "changes_total", dimensions: [("event", kind.rawValue), ("reason", reason.rawValue)]
        ).increment(by: times)
    }
}
