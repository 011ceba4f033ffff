import DequeModule

/// Where requests wait to share a round trip: all that came while one was under way go together in the next.
///
/// There is no timer: a consumer that waits is resumed by the first element. It runs after the loop has handed out the
/// present round's input, so elements that arrived in one round share a batch even when nothing was under way.
///
/// Lives within one actor. Bounded: an element too many is refused, so that a slow database costs answers and not
/// memory.
struct BatchQueue<Element: Sendable>: ~Copyable {
    private let countMax: Int
    private let batchMax: Int
    private var elements = Deque<Element>()
    private var consumers = Deque<CheckedContinuation<Void, Never>>()
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

    /// Up to one batch of what waits.
    mutating func takeBatch() -> [Element] {
        let batch = Array(elements.prefix(batchMax))
        elements.removeFirst(batch.count)
        return batch
    }

    /// Parks a consumer that found nothing. It is resumed when there may be something, or at the finish.
    mutating func park(_ consumer: CheckedContinuation<Void, Never>) {
        guard elements.isEmpty, !isFinished else { return consumer.resume() }
        consumers.append(consumer)
    }

    /// Refuses new elements, wakes every consumer and gives up what still waits.
    mutating func finish() -> [Element] {
        isFinished = true
        while let consumer = consumers.popFirst() { consumer.resume() }
        defer { elements.removeAll() }
        return Array(elements)
    }
}
