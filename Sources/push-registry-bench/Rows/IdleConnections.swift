import Foundation
import Glibc

/// The service's memory while clients hold connections open that they have used once.
struct IdleConnections {
    let count: Int

    func measure(_ server: ServerProcess) async throws -> Double {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = try Loopback.connect(port: server.port, isBlocking: true)
            descriptors.append(descriptor)
            try use(descriptor)
        }
        try await Task.sleep(for: .seconds(1))
        return try server.usage.residentMegabytes()
    }

    private func use(_ descriptor: CInt) throws {
        let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        var answer = [UInt8](repeating: 0, count: 4_096)
        guard send(descriptor, request, request.utf8.count, CInt(MSG_NOSIGNAL)) == request.utf8.count,
            recv(descriptor, &answer, answer.count, 0) > 0
        else { throw Loopback.Failure(what: "an idle connection broke") }
    }
}
