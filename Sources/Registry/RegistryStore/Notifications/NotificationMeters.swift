import Metrics

/// The metrics of numbered notifications on one loop.
struct NotificationMeters: Sendable {
    private let stored = Counter(label: "notifications_total", dimensions: [("result", "stored")])
    private let repeated = Counter(label: "notifications_total", dimensions: [("result", "repeated")])
    private let dropped = Counter(label: "notifications_total", dimensions: [("result", "dropped")])

    /// Counts posts; call it after their commit.
    func posted(_ boxes: LockedBoxes) {
        stored.increment(by: boxes.stored)
        repeated.increment(by: boxes.repeated)
        dropped.increment(by: boxes.dropped)
    }
}
