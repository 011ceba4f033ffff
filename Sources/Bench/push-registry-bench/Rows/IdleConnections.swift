import Foundation

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
