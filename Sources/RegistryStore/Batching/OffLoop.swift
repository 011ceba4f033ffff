/// Runs long work on another thread than the event loop's, which serves other requests meanwhile.
///
/// `@concurrent` does not suffice: if the task prefers the loop, such a function stays on it.
func offLoop<Value: Sendable>(_ body: @Sendable () throws -> Value) async rethrows -> Value {
    try await withTaskExecutorPreference(globalConcurrentExecutor) { try await elsewhere(body) }
}

@concurrent private func elsewhere<Value: Sendable>(_ body: @Sendable () throws -> Value) async rethrows -> Value {
    try body()
}
