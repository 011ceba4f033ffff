import Basics
import PostgresClient
import PushRegistry

/// Records when keys are used, to the hour, so that an operator can revoke an unused key.
///
/// A process has one log for all event loops. It writes a key's first use in an hour; further uses cost a look-up in
/// memory.
public final class KeyUseLog: KeyUseRecorder {
    private struct Use: Sendable {
        let keyID: String
        /// Since 1970.
        let hour: Int64
    }

    /// The most uses that wait to be written. Further uses are dropped, and the key's next use is written instead.
    private static let waitingMax = 1_024
    private static let microsecondsPerHour: Int64 = 3_600_000_000

    /// The last hour of each key that was used. There are no more entries than keys.
    private let hours = Locked<[String: Int64]>([:])
    private let waiting: AsyncStream<Use>
    private let continuation: AsyncStream<Use>.Continuation

    public init() {
        (waiting, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.waitingMax))
    }

    public func record(_ keyID: String, at time: Timestamp) {
        let use = Use(keyID: keyID, hour: time.microseconds / Self.microsecondsPerHour)
        let isNew = hours.withLock { hours in
            guard hours[keyID].map({ $0 < use.hour }) ?? true else { return false }
            hours[keyID] = use.hour
            return true
        }
        if isNew, case .dropped = continuation.yield(use) { forget(use) }
    }

    private func forget(_ use: Use) {
        hours.withLock { hours in
            if hours[use.keyID] == use.hour { hours[use.keyID] = nil }
        }
    }

    /// Writes until it is cancelled. If a use cannot be written, it is dropped, and the key's next use is written
    /// instead.
    public func run(on postgres: PostgresClient) async {
        for await use in waiting {
            let time = Timestamp(microseconds: use.hour * Self.microsecondsPerHour)
            do {
                _ = try await postgres.execute(DirectoryStatements.recordUse(use.keyID, time.postgres))
            } catch {
                forget(use)
            }
        }
    }
}
