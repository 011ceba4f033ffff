import Basics
import EventLoop
import PostgresClient
import PushRegistry

/// The apps whose node of the Citus cluster hangs: a value. Such a node keeps its connections and does not respond, so
/// each call waits for its deadline.
///
/// After a call that missed its deadline, calls about the app are refused for a while. Then one call at a time, of all
/// these apps, tries whether its node responds again.
struct AppOutages: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The time from a deadline to the next attempt.
    static let pause = Duration.seconds(1)

    struct Admission: Sendable {
        fileprivate let app: AppNumber
        /// Whether this call tries the node, while other calls are refused.
        fileprivate let isProbe: Bool
    }

    enum Ending {
        case responded
        /// The deadline has passed.
        case hung
        /// Any other error: it says nothing about the node.
        case failed
    }

    private var retries: [AppNumber: Instant] = [:]
    private var isProbing = false

    /// Nil if the call is refused. Call `end` at the end of an admitted call.
    mutating func admit(_ app: AppNumber, now: Instant) -> Admission? {
        guard let retry = retries[app] else { return Admission(app: app, isProbe: false) }
        guard retry <= now, !isProbing else { return nil }
        isProbing = true
        return Admission(app: app, isProbe: true)
    }

    mutating func end(_ admission: Admission, _ ending: Ending, now: Instant) {
        if admission.isProbe { isProbing = false }
        switch ending {
        case .responded: retries[admission.app] = nil
        case .hung: retries[admission.app] = now + Self.pause
        case .failed: break
        }
    }
}

/// The outages that the calls of one event loop have met.
final class AppOutageLog: Sendable {
    private let outages = Locked(AppOutages())

    /// Runs the statements of a call about an app, unless its node hangs.
    ///
    /// - Throws: what `body` throws; `StoreError.unavailable`.
    func serving<Value>(
        _ app: AppNumber, on loop: EventLoop, _ body: () async throws -> Value
    ) async throws -> Value {
        guard let admission = outages.withLock({ $0.admit(app, now: loop.now) }) else { throw StoreError.unavailable }
        do {
            let value = try await body()
            end(admission, .responded, loop)
            return value
        } catch {
            end(admission, error.isOfHangingNode ? .hung : .failed, loop)
            throw error
        }
    }

    private func end(_ admission: AppOutages.Admission, _ ending: AppOutages.Ending, _ loop: EventLoop) {
        outages.withLock { $0.end(admission, ending, now: loop.now) }
    }
}

extension Error {
    /// Whether a statement missed its deadline. A missed deadline for a connection says nothing about the app's node.
    var isOfHangingNode: Bool {
        guard let error = self as? PostgresError else { return false }
        return error.kind == .queryCancelled || error.kind == .timeout && !error.wasRefusedByPool
    }
}
