import EmbeddedPostgres
import Foundation
import Glibc
import RegistryTestSupport
import Testing

@Suite("Nothing that a stranger does takes the service from others", .serialized)
struct StrangerTests {
    private static let strangers = 500
    private static let bodyBytes = 8 * 1024 * 1024
    private static let residentMegabytesMax = 200

    /// Each sends eight megabytes to a call that takes as much, and has no key.
    @Test func memoryStaysSmall_whenStrangersSendMuch() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let port = registry.client.port
            let head = """
                POST \(app.path)/feedback HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n\
                Content-Length: \(Self.bodyBytes)\r\n\r\n
                """
            let statuses = try await onThread { try Self.flood(port, Array(head.utf8)) }
            #expect(statuses.allSatisfy { $0 == 401 || $0 == 429 })
            #expect(statuses.count > Self.strangers / 2)
            #expect(try await registry.send("GET", "/healthz", key: nil).status == 200)
            #expect(try registry.service.command.residentMegabytesMax() < Self.residentMegabytesMax)
        }
    }

    /// - Returns: the statuses of the responses that came.
    private static func flood(_ port: UInt16, _ head: [UInt8]) throws -> [Int] {
        let descriptors = try (0..<strangers).map { _ in try connect(port) }
        defer { for descriptor in descriptors { close(descriptor) } }
        for descriptor in descriptors { send(descriptor, head, head.count, CInt(MSG_NOSIGNAL)) }
        // As long as any of them is read.
        let piece = [UInt8](repeating: 120, count: 64 * 1024)
        for _ in 0..<(bodyBytes / piece.count) {
            let taken = descriptors.map {
                send($0, piece, piece.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
            }
            guard taken.contains(where: { $0 > 0 }) else { break }
        }
        return descriptors.compactMap { descriptor in
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_WAITALL))
            return count < 12 ? nil : Int(String(decoding: bytes[9..<12], as: UTF8.self))
        }
    }

    private static func connect(_ port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECONNREFUSED) }
        return descriptor
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try body() }) }.start()
        }
    }
}

@Suite("Whoever reads the log changes nothing for clients", .serialized)
struct LogReaderTests {
    /// More lines than a pipe and the queue hold, at some 350 bytes each.
    private static let requests = 5_000
    private static let longID = String(repeating: "i", count: 128)

    @Test(arguments: [false, true]) func requestsAreServed_whenTheLogsReader(isDead: Bool) async throws {
        try await withRegistry { registry in
            let socket = try ListeningSocket()
            let pipe = Pipe()
            let command = try RegistryCommand(
                ["serve"],
                environment: [
                    "PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString,
                    "PUSH_REGISTRY_ADMIN_KEY": RegistryService.adminKey, "PUSH_REGISTRY_LOG_LEVEL": "info",
                ], socket: socket, log: pipe.fileHandleForWriting)
            defer { command.send(SIGKILL) }
            try pipe.fileHandleForWriting.close()
            if isDead { try pipe.fileHandleForReading.close() }
            let client = HTTPClient(port: socket.port)
            try await eventually("the service is ready", within: .seconds(60)) {
                (try? await client.response(to: .make("GET", "/readyz", key: nil)))?.status == 200
            }
            let request = HTTPRequest.make("GET", "/healthz", key: nil, fields: [("X-Request-Id", Self.longID)])
            for _ in 0..<Self.requests {
                #expect(try await client.response(to: request).status == 200)
            }
            let metrics = try await client.response(to: .make("GET", "/metrics", key: nil))
            #expect(metrics.status == 200)
            let dropped = String(decoding: metrics.body, as: UTF8.self).firstMatch(of: /log_lines_dropped_total (\d+)/)
            #expect((dropped.flatMap { Int($0.1) } ?? 0) > 0)
            command.send(SIGTERM)
            #expect(try await command.exitStatus() == 0)
        }
    }
}
