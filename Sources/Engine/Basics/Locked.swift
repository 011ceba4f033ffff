public import Glibc

// All targets of the server use this one, so the others are not compiled after it has failed.
#if !Server
#error("The server needs the trait Server: swift build --traits Server")
#endif

/// A value behind a lock: one thread at a time uses it.
///
/// The lock is a pthread mutex rather than `Synchronization.Mutex`, because Thread Sanitizer understands it.
/// `PushRegistryTesting` has another lock: it also builds on Apple's platforms.
///
/// The lock is not recursive: a thread that calls ``withLock(_:)`` inside of the body waits for itself forever.
public struct Locked<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // In memory of their own, because a mutex must not move (pthread_mutex_init(3)), and a struct does.
    @usableFromInline
    let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline
    let value: UnsafeMutablePointer<Value>

    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
    }

    @inlinable
    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the value. No other thread uses the value meanwhile.
    ///
    /// - Throws: what `body` throws.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
