/// A descriptor in a loop's epoll set, as `EventLoop.watch` gave it.
public struct Watch: Sendable {
    public let descriptor: CInt
    let key: UInt64
}

/// The watched descriptors' handlers by key.
///
/// A key is a slot and the slot's count of uses: an event of a descriptor that was unwatched in the same round finds
/// nobody, even where its slot, or its descriptor, is in use again.
struct WatchTable {
    private struct Slot {
        var uses: UInt32 = 0
        var handler: (any ReadinessHandler)?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    mutating func insert(_ descriptor: CInt, _ handler: any ReadinessHandler) -> Watch {
        let index = free.popLast() ?? appendSlot()
        slots[index].uses &+= 1
        slots[index].handler = handler
        return Watch(descriptor: descriptor, key: UInt64(slots[index].uses) << 32 | UInt64(index))
    }

    mutating func remove(_ watch: Watch) {
        let index = Int(watch.key & 0xFFFF_FFFF)
        guard handler(for: watch.key) != nil else { return }
        slots[index].handler = nil
        free.append(index)
    }

    func handler(for key: UInt64) -> (any ReadinessHandler)? {
        let slot = slots[Int(key & 0xFFFF_FFFF)]
        return slot.uses == UInt32(key >> 32) ? slot.handler : nil
    }

    private mutating func appendSlot() -> Int {
        slots.append(Slot())
        return slots.count - 1
    }
}
