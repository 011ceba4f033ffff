import Foundation
import Glibc

/// Measures a server's memory while clients keep connections open that they have used once.
struct IdleConnections {
    private static let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)

    let count: Int
    var open: OpenLoadChannel = { PlainChannel(descriptor: $0) }

    func measure(port: UInt16, _ usage: ProcessUsage) async throws -> Double {
        var channels: [any LoadChannel] = []
        defer { for channel in channels { channel.close() } }
        for _ in 0..<count {
            let channel = try open(Loopback.connect(port: port))
            channels.append(channel)
            try use(channel)
        }
        try await Task.sleep(for: .seconds(1))
        return try usage.residentMegabytes()
    }

    private func use(_ channel: any LoadChannel) throws {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        _ = try buffer.withUnsafeMutableBytes { try channel.exchange(Self.request, into: $0) }
    }
}
