/// A semaphore that limits the throw-away clusters that a process runs at once. Test runners start dozens of tests at
/// once; if each starts a server, all of them are slow.
///
/// A task that holds a permit must not wait for another one.
actor ClusterSemaphore {
    static let shared = ClusterSemaphore(count: 4)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) {
        free = count
    }

    func wait() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func signal() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
