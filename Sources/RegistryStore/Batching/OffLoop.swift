/// Runs long work on another thread than the event loop's, which serves other requests meanwhile.
///
/// The attribute `@concurrent` does not do that: under a task's preference for the loop its function stays there.
func offLoop<Value: Sendable>(_ body: @Sendable () throws -> Value) async rethrows -> Value {
    try await withTaskExecutorPreference(globalConcurrentExecutor) { try await elsewhere(body) }
}

@concurrent private func elsewhere<Value: Sendable>(_ body: @Sendable () throws -> Value) async rethrows -> Value {
    try body()
}
