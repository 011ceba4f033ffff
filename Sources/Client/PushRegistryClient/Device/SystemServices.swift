import Foundation

#if canImport(Network)
import Network
#endif

/// What the client asks of the system; replaced by tests.
struct SystemServices: Sendable {
    /// Returns when the network is back after an interruption, or when the task is cancelled.
    var networkReturn: @Sendable () async -> Void
    /// Asks the system to let the process run on in the background. Returns a closure that ends this.
    var keepRunning: @Sendable () -> @Sendable () -> Void

    static let current = SystemServices(networkReturn: waitForNetworkReturn, keepRunning: beginExpiringActivity)

    #if canImport(Network)
    private static func waitForNetworkReturn() async {
        let monitor = NWPathMonitor()
        let (paths, path) = AsyncStream.makeStream(of: Bool.self)
        monitor.pathUpdateHandler = { path.yield($0.status == .satisfied) }
        monitor.start(queue: .global(qos: .utility))
        defer { monitor.cancel() }
        var wasLost = false
        for await isSatisfied in paths {
            if isSatisfied, wasLost { return }
            wasLost = !isSatisfied
        }
    }
    #else
    private static func waitForNetworkReturn() async {
        // Linux does not report it.
        for await _ in AsyncStream<Never>.makeStream().stream {}
    }
    #endif

    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
    private static func beginExpiringActivity() -> @Sendable () -> Void {
        let isDone = DispatchSemaphore(value: 0)
        // The system lets the process run while this closure does. When the time is over, it calls it once more.
        ProcessInfo.processInfo.performExpiringActivity(withReason: "send the logout") { isExpired in
            if isExpired { isDone.signal() } else { isDone.wait() }
        }
        return { isDone.signal() }
    }
    #else
    /// These systems suspend no process that has left the foreground.
    private static func beginExpiringActivity() -> @Sendable () -> Void { {} }
    #endif
}
