import EmbeddedPostgres
import Foundation
import Glibc
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Requests without a valid credential cannot exhaust the service", .serialized)
struct FloodTests {
    private static let strangers = 500
    private static let bodyBytes = 8 * 1024 * 1024
    private static let residentMegabytesMax = 200

    /// Each client sends eight megabytes, the limit of the call, without a key.
    @Test func memoryStaysSmall_whenManySendLargeBodiesWithoutAKey() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let head = """
                POST \(app.path)/feedback HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n\
                Content-Length: \(Self.bodyBytes)\r\n\r\n
                """
            let flood = try Flood(connections: Self.strangers, port: registry.client.port)
            let statuses = await flood.run(head: Array(head.utf8), bodyBytes: Self.bodyBytes)
            #expect(statuses.allSatisfy { $0 == 401 || $0 == 429 })
            #expect(statuses.count > Self.strangers / 2)
            #expect(try await registry.send("GET", "/healthz", key: nil).status == 200)
            #expect(try registry.service.command.residentMegabytesMax() < Self.residentMegabytesMax)
        }
    }

    /// More clients than the service may have files open. Those that it accepted are in the middle of a request.
    @Test func postgreSQLIsReachedAgain_whenStrangersTookEveryConnection() async throws {
        let descriptorsMax = 400
        try await withRegistry(descriptorsMax: descriptorsMax) { registry in
            #expect(registry.service.command.log.contains("fewer connections than configured"))
            let flood = try Flood(
                connections: descriptorsMax, port: registry.client.port,
                beginning: Array("POST /v1/receipts HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{".utf8))
            try await eventually("new connections wait") {
                registry.service.command.log.contains("new connections have to wait")
            }
            #expect(try registry.service.command.openFiles() < descriptorsMax - 64)
            let ended = try await registry.database.column(
                "SELECT pid::bigint FROM pg_stat_activity WHERE application_name LIKE 'push-registry%'", as: Int64.self)
            try await TestDatabase.with(registry.cluster.superuserConnectionString) { superuser in
                _ = try await superuser.rows(
                    "SELECT pg_terminate_backend(pid::integer) FROM unnest(\(ended)) AS s (pid)")
            }
            try await eventually("the service has new sessions") {
                try await registry.database.count(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE application_name LIKE 'push-registry%' AND NOT pid = ANY (\(ended))
                    """) > 0
            }
            try await eventually("the strangers' requests time out") {
                try await registry.send("GET", "/readyz", key: nil).status == 200
            }
            withExtendedLifetime(flood) {}
        }
    }
}

/// Many connections that send concurrently, as much as the server reads.
private final class Flood: Sendable {
    private static let pieceBytes = 64 * 1024
    /// The deadline of all responses together.
    private static let responsesWait = Duration.seconds(30)

    private let descriptors: [CInt]

    /// - Parameter start: what each connection sends at once.
    init(connections: Int, port: UInt16, beginning start: [UInt8] = []) throws {
        descriptors = try (0..<connections).map { _ in
            let descriptor = try Self.connect(port)
            _ = Self.send(descriptor, start)
            return descriptor
        }
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
    }

    private static func connect(_ port: UInt16) throws -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ECONNREFUSED) }
        return descriptor
    }

    /// Sends a request on each connection, the bodies in chunks by turns.
    ///
    /// - Returns: the statuses of the received responses.
    func run(head: [UInt8], bodyBytes: Int) async -> [Int] {
        await withCheckedContinuation { continuation in
            // These calls block the thread.
            Thread { [self] in
                send(head, bodyBytes)
                continuation.resume(returning: statuses())
            }.start()
        }
    }

    private func send(_ head: [UInt8], _ bodyBytes: Int) {
        for descriptor in descriptors { _ = Self.send(descriptor, head) }
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: Self.pieceBytes)
        for _ in 0..<(bodyBytes / piece.count) {
            let taken = descriptors.map { Self.send($0, piece) }
            guard taken.contains(where: { $0 > 0 }) else { return }
        }
    }

    private static func send(_ descriptor: CInt, _ bytes: [UInt8]) -> Int {
        Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
    }

    private func statuses() -> [Int] {
        let deadline = ContinuousClock.now + Self.responsesWait
        return descriptors.compactMap { descriptor in
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = max((deadline - .now) / .milliseconds(1), 0)
            guard poll(&polled, 1, CInt(milliseconds)) == 1 else { return nil }
            var start = [UInt8](repeating: 0, count: "HTTP/1.1 200".utf8.count)
            guard recv(descriptor, &start, start.count, 0) == start.count else { return nil }
            return Int(String(decoding: start.suffix(3), as: UTF8.self))
        }
    }
}
