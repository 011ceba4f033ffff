import Basics
import HTTPWire
import Logging

/// Warns that a peer sends `X-Forwarded-For` and is not a trusted proxy: once, then at most every hour, however many
/// loops share it. Without the warning nobody would notice that all clients of a proxy count as one address.
final class UntrustedForwarding: Sendable {
    static let interval = Duration.seconds(3_600)

    private let warnedAt = Locked<ContinuousClock.Instant?>(nil)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func report(_ peer: IPAddress, at now: ContinuousClock.Instant) {
        guard isDue(at: now) else { return }
        logger.warning(
            "X-Forwarded-For is ignored: its sender is not in --trusted-proxies, so its clients count as one address",
            metadata: ["peer": "\(peer)"])
    }

    /// Whether to warn now. The next warning is then due after `interval`.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        warnedAt.withLock { last in
            if let last, now - last < Self.interval { return false }
            last = now
            return true
        }
    }
}
