import DequeModule

/// A queue of requests that share round trips: all that arrive during a round trip share the next one.
///
/// There is no timer: the first element resumes a waiting consumer. The consumer runs after the loop has handled the
/// input of its present round, so elements of one round share a batch even if no round trip was in progress.
///
/// Used within one actor. Bounded: it refuses elements beyond its limit, so a slow database causes refusals, and memory
/// does not grow.
struct BatchQueue<Element: Sendable>: ~Copyable {
    private let countMax: Int
    private let batchMax: Int
    private var elements = Deque<Element>()
    /// Resumed exactly once: a consumer that is not resumed at once leaves this queue only to be resumed.
    private var consumers = Deque<UnsafeContinuation<Void, Never>>()
    private(set) var isFinished = false

    init(countMax: Int, batchMax: Int) {
        self.countMax = countMax
        self.batchMax = batchMax
    }

    var count: Int { elements.count }

    /// Whether the element was taken; false when the queue is full or finished.
    mutating func append(_ element: Element) -> Bool {
        guard elements.count < countMax, !isFinished else { return false }
        elements.append(element)
        consumers.popFirst()?.resume()
        return true
    }

    /// At most one batch of the waiting elements.
    mutating func takeBatch() -> [Element] {
        let batch = Array(elements.prefix(batchMax))
        elements.removeFirst(batch.count)
        return batch
    }

    /// Suspends a consumer of an empty queue. The next element resumes it, or the finish.
    mutating func park(_ consumer: UnsafeContinuation<Void, Never>) {
        guard elements.isEmpty, !isFinished else { return consumer.resume() }
        consumers.append(consumer)
    }

    /// Refuses new elements, wakes every consumer and returns the waiting elements.
    mutating func finish() -> [Element] {
        isFinished = true
        while let consumer = consumers.popFirst() { consumer.resume() }
        defer { elements.removeAll() }
        return Array(elements)
    }
}
