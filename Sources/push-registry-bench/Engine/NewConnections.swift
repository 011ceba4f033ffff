import Foundation

/// Clients that connect, send one GET and close, in a loop, each on its own thread.
struct NewConnections: Sendable {
    private static let clients = 8
    private static let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    private static let responseBytesMax = 4_096

    let server: EngineServer

    func measure(seconds: Int) async throws -> EngineMeasurement {
        let start = ContinuousClock.now
        let before = try server.usage.cpuSeconds()
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.clients { group.addTask { try await onThread(until: start + .seconds(seconds)) } }
            return try await group.reduce(0, +)
        }
        return EngineMeasurement(
            count: count, seconds: (ContinuousClock.now - start) / .seconds(1),
            cpuSeconds: try server.usage.cpuSeconds() - before)
    }

    private func onThread(until end: ContinuousClock.Instant) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try connect(until: end) }) }.start()
        }
    }

    private func connect(until end: ContinuousClock.Instant) throws -> Int {
        var buffer = [UInt8](repeating: 0, count: Self.responseBytesMax)
        var count = 0
        while ContinuousClock.now < end {
            let channel = try server.open(Loopback.connect(port: server.port))
            defer { channel.close() }
            _ = try buffer.withUnsafeMutableBytes { try channel.exchange(Self.request, into: $0) }
            count += 1
        }
        return count
    }
}
