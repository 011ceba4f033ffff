/// A semaphore for tests. Test runners start dozens of tests at once; if all of them used servers, each would be slow.
///
/// A task that holds a permit must not wait for another one.
package actor TestSemaphore {
    /// Limits the throw-away clusters that a process runs at once.
    static let clusters = TestSemaphore(count: 4)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init(count: Int) {
        free = count
    }

    package func wait() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    package func signal() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
