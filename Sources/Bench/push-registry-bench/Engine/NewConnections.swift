import Foundation

/// Clients that connect, send one GET and close, in a loop, each on its own thread.
struct NewConnections: Sendable {
    private static let clients = 8

    let server: EngineServer

    func measure(seconds: Int) async throws -> Measurement {
        let start = ContinuousClock.now
        let before = try server.usage.cpuSeconds()
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.clients { group.addTask { try await onThread(until: start + .seconds(seconds)) } }
            return try await group.reduce(0, +)
        }
        return Measurement(
            count: count, seconds: (ContinuousClock.now - start) / .seconds(1),
            service: try server.usage.cpuSeconds() - before)
    }

    private func onThread(until end: ContinuousClock.Instant) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try connect(until: end) }) }.start()
        }
    }

    private func connect(until end: ContinuousClock.Instant) throws -> Int {
        var count = 0
        while ContinuousClock.now < end {
            try ClientConnection(port: server.port, tls: server.tls).get()
            count += 1
        }
        return count
    }
}

/// Measures a server's memory while clients keep connections open that they have used once.
struct IdleConnections {
    let count: Int
    var tls: TLSClient?

    func measure(port: UInt16, _ usage: ProcessUsage) async throws -> Double {
        var connections: [ClientConnection] = []
        for _ in 0..<count {
            let connection = try ClientConnection(port: port, tls: tls)
            connections.append(connection)
            try connection.get()
        }
        try await Task.sleep(for: .seconds(1))
        return try withExtendedLifetime(connections) { try usage.residentMegabytes() }
    }
}
