#if canImport(os)
import os
#else
import Synchronization
#endif

/// A value behind a lock. `Mutex` of the standard library needs newer systems of Apple than the client does.
final class LockedState<Value: Sendable>: Sendable {
    #if canImport(os)
    private let lock: OSAllocatedUnfairLock<Value>

    init(_ value: Value) {
        lock = OSAllocatedUnfairLock(initialState: value)
    }
    #else
    private let lock: Mutex<Value>

    init(_ value: Value) {
        lock = Mutex(value)
    }
    #endif

    func withLock<Result: Sendable>(_ body: @Sendable (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&$0) }
    }
}
