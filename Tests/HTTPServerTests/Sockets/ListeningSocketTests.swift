import EventLoop
import Foundation
import Glibc
import Logging
import Testing

@testable import HTTPServer

@Suite("A host is served at the addresses that the machine has")
struct ListeningSocketTests {
    private let localhost = ListenAddress(host: "localhost", port: 8_080)

    /// Opens `::1` and `127.0.0.1`, of which some fail.
    private func open(_ faults: [String: CInt]) throws -> [String] {
        try ListeningSocket.openAvailable(["::1", "127.0.0.1"]) { address in
            if let fault = faults[address] { throw ListenError(localhost, "bind", errno: fault) }
            return address
        }
    }

    @Test(arguments: [EAFNOSUPPORT, EADDRNOTAVAIL])
    func missingAddressIsSkipped_whenAnotherRemains(_ fault: CInt) throws {
        #expect(try open([:]) == ["::1", "127.0.0.1"])
        #expect(try open(["::1": fault]) == ["127.0.0.1"])
        #expect(try open(["127.0.0.1": fault]) == ["::1"])
    }

    @Test func startFails_whenNoAddressRemains() {
        let error = #expect(throws: ListenError.self) {
            try open(["::1": EAFNOSUPPORT, "127.0.0.1": EADDRNOTAVAIL])
        }
        #expect(error?.description == "cannot listen at localhost:8080: bind: Cannot assign requested address")
    }

    @Test(arguments: ["::1", "127.0.0.1"]) func startFails_whenAnAddressIsInUse(_ address: String) {
        #expect(throws: ListenError.self) { try open([address: EADDRINUSE]) }
    }

    /// As if the system had no epoll watch left: a regular file cannot be watched.
    @Test func listener_triesAgain_whenItsSocketCannotBeWatched() async throws {
        let loop = EventLoop(name: "listener")
        defer { loop.stop() }
        let socket = ListeningSocket(
            descriptor: Glibc.open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
            address: try ListeningSocket.open(ListenAddress(host: "127.0.0.1", port: 0), count: 1)[0][0].address)
        var logger = Logger(label: "listener")
        logger.logLevel = .critical
        let listener = Listener(
            socket, loop: loop, limits: ConnectionLimits(HTTPServerConfiguration(addresses: []), loopCount: 1),
            logger: logger
        ) { _ in false }
        await listener.start()
        #expect(await listener.isPaused)
        await listener.resume()
        #expect(await listener.isPaused)
        await withCheckedContinuation { continuation in
            loop.execute { listener.assumeIsolated { $0.stop { continuation.resume() } } }
        }
    }

    /// As processes that start at the same moment. Another program may take a port between two of its uses.
    @Test func atMostOneSucceeds_whenManyOpenOnePort() async throws {
        var counts: [Int] = []
        for _ in 0..<3_000 {
            let free = try ListeningSocket.open(ListenAddress(host: "127.0.0.1", port: 0), count: 1)[0][0].address.port
            let address = ListenAddress(host: "127.0.0.1", port: free)
            let opened = await withTaskGroup { group in
                for _ in 0..<8 { group.addTask { try? ListeningSocket.open(address, count: 2) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            counts.append(opened.count { $0 != nil })
        }
        #expect(counts.count { $0 > 1 } == 0)
        #expect(counts.contains(1))
    }

    /// The kernel chooses by a hash of the client's address, so 64 clients practically never choose one socket only.
    @Test func clientsAreDistributed_overTheSocketsOfAnAddress() throws {
        let sockets = try ListeningSocket.open(ListenAddress(host: "127.0.0.1", port: 0), count: 2)[0]
        let clients = try (0..<64).map { _ in try TestClient(sockets[0].address.port) }
        let accepted = sockets.map { socket in
            clients.count { _ in
                let descriptor = accept(socket.descriptor, nil, nil)
                if descriptor >= 0 { close(descriptor) }
                return descriptor >= 0
            }
        }
        #expect(accepted.reduce(0, +) == clients.count && accepted.allSatisfy { $0 > 0 }, "\(accepted)")
    }
}
