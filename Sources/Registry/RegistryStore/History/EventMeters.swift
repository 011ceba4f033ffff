import Metrics
import PushRegistry

/// Counts the events that this process wrote, by kind and reason. The rules define both, so there are few series.
enum EventMeters {
    private struct Change: Hashable {
        let kind: EventKind
        let reason: TokenEvent.Reason
    }

    /// Call it once the events are committed.
    static func count(_ events: [TokenEvent], _ topicsEvents: [TopicsEvent] = []) {
        var counts: [Change: Int] = [:]
        for event in events { counts[Change(kind: event.kind, reason: event.reason), default: 0] += 1 }
        for event in topicsEvents { counts[Change(kind: .topicsChanged, reason: event.reason), default: 0] += 1 }
        for (change, times) in counts {
            Counter(
                label: "changes_total",
                dimensions: [("event", change.kind.rawValue), ("reason", change.reason.rawValue)]
            ).increment(by: times)
        }
    }

    /// Counts typed tokens that verdicts removed, which have no events. Call it once they are committed.
    static func count(removed tokens: [TokenKind: Int]) {
        for (kind, times) in tokens {
            Counter(label: "typed_tokens_removed_total", dimensions: [("kind", kind.rawValue)])
                .increment(by: times)
        }
    }
}
