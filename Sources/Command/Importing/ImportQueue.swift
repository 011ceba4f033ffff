import Foundation

/// A bounded queue between two threads. `put` and `next` **block**.
final class ImportQueue<Element: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private let elementsMax: Int
    private var elements: [Element] = []
    private var end: Result<Void, any Error>?

    init(elementsMax: Int) {
        self.elementsMax = elementsMax
    }

    /// Waits until the queue has space.
    ///
    /// - Returns: false if the queue is finished.
    func put(_ element: Element) -> Bool {
        condition.withLock {
            while end == nil, elements.count >= elementsMax { condition.wait() }
            guard end == nil else { return false }
            elements.append(element)
            condition.signal()
            return true
        }
    }

    /// Finishes the queue. Only the first call has an effect.
    func finish(_ result: Result<Void, any Error> = .success(())) {
        condition.withLock {
            end = end ?? result
            condition.broadcast()
        }
    }

    /// Waits for an element.
    ///
    /// - Returns: nil if the queue is finished and empty.
    /// - Throws: the error with which the queue was finished, once it is empty.
    func next() throws -> Element? {
        try condition.withLock {
            while end == nil, elements.isEmpty { condition.wait() }
            guard !elements.isEmpty else {
                try end?.get()
                return nil
            }
            defer { condition.signal() }
            return elements.removeFirst()
        }
    }
}
