/// Bounds how many throw-away clusters a process runs at once: test runners start tests by the dozen, and a machine
/// that starts dozens of servers at once makes all of them late.
///
/// A task that holds a place must not wait for another one.
actor ClusterPlaces {
    static let shared = ClusterPlaces(count: 4)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) {
        free = count
    }

    func take() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func giveBack() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
