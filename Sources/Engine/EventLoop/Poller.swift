import CLinux
import Glibc

/// The events that a descriptor waits for, or is ready for.
public struct Readiness: OptionSet, Sendable {
    /// The event bits of epoll_ctl(2).
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// `EPOLLIN`: bytes can be read, the peer has finished sending, or a connection can be accepted.
    public static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    /// `EPOLLOUT`: the socket accepts bytes, or an attempt to connect has ended (connect(2)).
    public static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// `EPOLLRDHUP`: the peer has finished sending. Without it, a descriptor whose bytes are not read does not tell.
    public static let hungUp = Readiness(rawValue: EPOLLRDHUP.rawValue)
    /// `EPOLLEXCLUSIVE`: of several pollers that watch the descriptor, not all are woken. It cannot be changed later.
    public static let exclusive = Readiness(rawValue: EPOLLEXCLUSIVE.rawValue)
    /// An error (`EPOLLERR`), or both sides have finished sending (`EPOLLHUP`). Always reported, never requested. One
    /// of the bits may be set alone, so test it with `isDisjoint(with:)`.
    public static let failed = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
}

/// The owner of one epoll instance and of the eventfd that wakes it.
///
/// Level-triggered. The caller chooses a key for each descriptor; its events carry that key.
final class Poller: Sendable {
    /// The key of the eventfd; no `Watch` has it.
    static let wakeKey = UInt64.max
    /// Events read from the kernel at once. The rest wait for the next round, so that jobs and timers get their turn.
    static let eventsMax = 256

    private let epoll: CInt
    private let wakeUp: CInt
    private nonisolated(unsafe) let events: UnsafeMutablePointer<epoll_event>

    init() {
        epoll = epoll_create1(CInt(EPOLL_CLOEXEC))
        wakeUp = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        precondition(epoll >= 0 && wakeUp >= 0, "no descriptor left for an event loop: raise the limit (ulimit -n)")
        events = .allocate(capacity: Self.eventsMax)
        let isWatched = watch(wakeUp, for: .readable, key: Self.wakeKey)
        precondition(isWatched, "an event loop cannot be created: epoll_ctl, errno \(errno)")
    }

    deinit {
        close(wakeUp)
        close(epoll)
        events.deallocate()
    }

    /// - Returns: false if the system cannot watch another descriptor; `errno` has the reason.
    func watch(_ descriptor: CInt, for interest: Readiness, key: UInt64) -> Bool {
        control(EPOLL_CTL_ADD, descriptor, for: interest, key: key) == 0
    }

    func change(_ descriptor: CInt, to interest: Readiness, key: UInt64) {
        let result = control(EPOLL_CTL_MOD, descriptor, for: interest, key: key)
        precondition(result == 0, "epoll_ctl(EPOLL_CTL_MOD, \(descriptor)): errno \(errno)")
    }

    func unwatch(_ descriptor: CInt) {
        // If a library has closed the descriptor itself, as libpq does, it is no longer in the set.
        _ = control(EPOLL_CTL_DEL, descriptor, for: [], key: 0)
    }

    /// Makes the current or the next `wait` return. Any thread may call it.
    func wake() {
        _ = eventfd_write(wakeUp, 1)
    }

    /// Waits for events, at most `timeoutMilliseconds` (-1: no limit).
    ///
    /// - Returns: the number of events, which `deliver` passes on.
    func wait(timeoutMilliseconds: CInt) -> Int {
        max(0, Int(epoll_wait(epoll, events, CInt(Self.eventsMax), timeoutMilliseconds)))
    }

    /// Calls `ready` for each event of the last wait.
    ///
    /// - Returns: whether `wake` was called since the last delivery that returned true.
    func deliver(_ count: Int, to ready: (_ key: UInt64, _ readiness: Readiness) -> Void) -> Bool {
        var isWoken = false
        for index in 0..<count {
            let event = events[index]
            if event.data.u64 == Self.wakeKey {
                resetWake()
                isWoken = true
            } else {
                ready(event.data.u64, Readiness(rawValue: event.events))
            }
        }
        return isWoken
    }

    private func resetWake() {
        var count: eventfd_t = 0
        _ = eventfd_read(wakeUp, &count)
    }

    private func control(_ operation: CInt, _ descriptor: CInt, for interest: Readiness, key: UInt64) -> CInt {
        var event = epoll_event(events: interest.rawValue, data: epoll_data_t(u64: key))
        return epoll_ctl(epoll, operation, descriptor, &event)
    }
}
