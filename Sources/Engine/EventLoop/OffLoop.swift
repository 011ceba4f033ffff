/// Runs long work on another thread and returns its result. On an event loop, all of the loop's connections would wait
/// for the work.
///
/// A handler's task prefers its loop, and so does everything the handler calls, `@concurrent` functions included
/// (SE-0417). A detached task does not. It is awaited here, and cancelled with the calling task.
public func offLoop<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    let task = Task.detached { () async -> Result<Value, Failure> in
        do throws(Failure) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }
    return try await withTaskCancellationHandler {
        await task.value
    } onCancel: {
        task.cancel()
    }.get()
}
