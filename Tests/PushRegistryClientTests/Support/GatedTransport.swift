import Foundation
import PushRegistryClient

/// Holds requests until the test releases them, so that a test can act while a request is in progress.
actor GatedTransport: PushRegistryClient.Transport {
    private let next: any PushRegistryClient.Transport
    private var isOpen = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var arrivals: [CheckedContinuation<Void, Never>] = []
    private(set) var concurrentMax = 0
    private var concurrent = 0

    init(_ next: any PushRegistryClient.Transport) {
        self.next = next
    }

    func send(_ request: PushRegistryClient.Request) async throws -> PushRegistryClient.Response {
        concurrent += 1
        concurrentMax = max(concurrentMax, concurrent)
        defer { concurrent -= 1 }
        if !isOpen {
            await withCheckedContinuation { continuation in
                held.append(continuation)
                for arrival in arrivals { arrival.resume() }
                arrivals = []
            }
        }
        return try await next.send(request)
    }

    /// Waits until a request is held.
    func arrival() async {
        if held.isEmpty { await withCheckedContinuation { arrivals.append($0) } }
    }

    /// Releases this and all later requests.
    func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }
}
