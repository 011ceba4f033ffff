import Basics
import Dispatch
import PostgresClient

/// Does something in another session while the job, on whose thread this is called, waits.
func aside<Value: Sendable>(
    _ configuration: PostgresConfiguration, _ body: @escaping @Sendable (PostgresSession) throws -> Value
) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let outcome = Locked<Result<Value, any Error>?>(nil)
    Task {
        do {
            let value = try await PostgresSession.withSession(configuration, body)
            outcome.withLock { $0 = .success(value) }
        } catch {
            outcome.withLock { $0 = .failure(error) }
        }
        done.signal()
    }
    done.wait()
    return try outcome.withLock { $0 }!.get()
}
