import Foundation

/// Hands elements from one thread to another, and lets the first get only so far ahead. Both **block**.
final class ImportQueue<Element: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private let elementsMax: Int
    private var elements: [Element] = []
    private var end: Result<Void, any Error>?

    init(elementsMax: Int) {
        self.elementsMax = elementsMax
    }

    /// Waits until there is room.
    ///
    /// - Returns: false once nobody takes any more.
    func put(_ element: Element) -> Bool {
        condition.withLock {
            while end == nil, elements.count >= elementsMax { condition.wait() }
            guard end == nil else { return false }
            elements.append(element)
            condition.signal()
            return true
        }
    }

    /// Nothing follows; the first end counts.
    func finish(_ result: Result<Void, any Error> = .success(())) {
        condition.withLock {
            end = end ?? result
            condition.broadcast()
        }
    }

    /// Waits until there is one.
    ///
    /// - Returns: nil at the end.
    /// - Throws: what the queue was finished with, once it is empty.
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
