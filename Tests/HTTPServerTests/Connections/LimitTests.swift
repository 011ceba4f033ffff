import Basics
import EventLoop
import Foundation
import Glibc
import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Limits are enforced", .timeLimit(.minutes(5)))
struct LimitTests {
    @Test func thousandConnectionsAreServed_whenAllStayOpen() async throws {
        let server = try TestServer(loopCount: 2)
        try await blocking {
            let clients = try (0..<1_000).map { _ in try server.client() }
            for _ in 0..<2 {
                for client in clients { try client.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n") }
                for client in clients { #expect(try client.response().body == "hello") }
            }
        }
    }

    @Test func idleConnectionIsClosed_whenDescriptorsRunOut() async {
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            try await blocking {
                let idle = try [server.client(), server.client()]
                for client in idle { #expect(try client.get("/hello").status == 200) }
                let occupied = occupyDescriptors(sparing: 1)
                // The client uses the last descriptor; the kernel completes the connection anyway.
                #expect(try server.client().get("/hello").body == "hello")
                // The test's own reports need a descriptor.
                for descriptor in occupied { close(descriptor) }
                #expect(try idle[0].rest() == "")
                #expect(try idle[1].get("/hello").status == 200)
            }
        }
    }

    @Test func serverRecoversWithoutSpinning_whenDescriptorsRunOutAndNoConnectionIsIdle() async {
        await #expect(processExitsWith: .success) {
            // Spinning shows in the CPU time of a while in which nothing else happens.
            let server = try TestServer(routes: { loop, events in
                let slow = Route(.get, "/slow") { _ in
                    events.add("slow")
                    try await loop.sleep(for: .milliseconds(100))
                    return .text("slow")
                }
                return TestServer.routes(loop, events) + [slow]
            })
            try await blocking {
                let busy = try server.client()
                let slow = "GET /slow HTTP/1.1\r\nHost: t\r\n\r\n"
                try busy.send(slow + slow + slow)
                #expect(server.events.wait(for: "slow"))
                let occupied = occupyDescriptors(sparing: 1)
                let waiting = try server.client()
                try waiting.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
                let used = cpuTime()
                for _ in 0..<2 { #expect(try busy.response().status == 200) }
                #expect(cpuTime() - used < 0.15)
                for descriptor in occupied { close(descriptor) }
                #expect(try waiting.response().body == "hello")
            }
        }
    }

    @Test func connectionWaits_whenThereAreTooManyAndNoneIsIdle() async throws {
        let server = try TestServer { $0.connectionsMax = 2 }
        try await blocking {
            let busy = try [server.client(), server.client()]
            for client in busy { try client.send("GET /wait HTTP/1.1\r\nHost: t\r\n\r\n") }
            #expect(server.events.wait(for: "waiting", times: 2))
            let third = try server.client()
            try third.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n")
            busy[0].reset()
            #expect(try third.response().body == "hello")
            #expect(server.server.connectionCount == 2)
        }
    }

    @Test func longestIdleConnectionIsClosed_whenThereAreTooMany() async throws {
        let server = try TestServer { $0.connectionsMax = 2 }
        try await blocking {
            let idle = try [server.client(), server.client()]
            for client in idle { #expect(try client.get("/hello").status == 200) }
            #expect(try idle[0].get("/hello").status == 200)
            #expect(try server.client().get("/hello").body == "hello")
            #expect(try idle[1].rest() == "")
            #expect(try idle[0].get("/hello").status == 200)
        }
    }

    /// A flood of connections that send nothing does not close those of clients that have proved themselves.
    @Test func connectionWithoutARequestIsClosed_beforeAnIdleOne() async throws {
        let server = try TestServer { ($0.connectionsMax, $0.timeouts.firstRequest) = (3, .zero) }
        try await blocking {
            let proven = try server.client()
            #expect(try proven.get("/hello").status == 200)
            let silent = try [server.client(), server.client()]
            var others: [TestClient] = []
            for client in silent {
                others.append(try server.client())
                #expect(try others[others.count - 1].get("/hello").body == "hello")
                #expect(try client.rest() == "")
                #expect(try proven.get("/hello").status == 200)
            }
        }
    }

    /// The clients send while the loop is busy: all connections and requests are there when it goes on.
    @Test func connectionIsNotClosed_whenItsRequestHasArrived() async throws {
        let mayGoOn = DispatchSemaphore(value: 0)
        let server = try TestServer(
            { $0.connectionsMax = 4 },
            routes: { loop, events in
                let stall = Route(.get, "/stall") { _ in
                    loop.execute {
                        events.add("stalled")
                        mayGoOn.wait()
                    }
                    return .text("stalled")
                }
                return TestServer.routes(loop, events) + [stall]
            })
        try await blocking {
            let first = try server.client()
            try first.send("GET /stall HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "stalled"))
            let clients = try (0..<16).map { _ in try server.client() }
            for client in clients { try client.send("GET /hello HTTP/1.1\r\nHost: t\r\n\r\n") }
            mayGoOn.signal()
            for client in clients { #expect(try client.response().body == "hello") }
        }
    }

    /// The kernel chooses the loop of a connection.
    @Test func idleConnectionOfAnotherLoopIsClosed_whenTheOwnLoopHasNone() async throws {
        let server = try TestServer(loopCount: 4) { $0.connectionsMax = 1 }
        try await blocking {
            var latest: TestClient?
            for _ in 0..<40 {
                let client = try server.client()
                #expect(try client.get("/hello").body == "hello")
                #expect(try latest?.rest() ?? "" == "")
                latest = client
            }
        }
    }

    @Test func refusedConnectionTakesNoSlot_whenItsAddressHasTooMany() async throws {
        let server = try TestServer { ($0.connectionsMax, $0.connectionsPerAddressMax) = (2, 1) }
        try await blocking {
            let first = try server.client()
            #expect(try first.get("/hello").status == 200)
            let refused = try (0..<20).map { _ in try server.client() }
            for client in refused { #expect(try client.response().status == 503) }
            #expect(server.server.connectionCount == 1)
            #expect(try first.get("/hello").status == 200)
        }
    }

    @Test func connectionsGoToTheLoopsThatServe_withTheFewest() throws {
        let limits = ConnectionLimits(HTTPServerConfiguration(addresses: []), loopCount: 16)
        let address = try #require(IPAddress("192.0.2.1"))
        for loop in 0..<15 { limits.begin(loop) }
        for _ in 0..<60 { #expect(limits.add(address, acceptedBy: .random(in: 0..<15)) != nil) }
        #expect(limits.countsOfLoops.max() ?? 0 <= 5 && limits.countsOfLoops[15] == 0)
        limits.begin(15)
        limits.drain(0)
        let before = limits.countsOfLoops[0]
        for _ in 0..<60 { #expect(limits.add(address, acceptedBy: .random(in: 1..<16)) != nil) }
        #expect(limits.countsOfLoops[0] == before)
        let counts = limits.countsOfLoops.dropFirst()
        #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 2)
    }

    @Test func ipv6NetworkCountsAsOneAddress() throws {
        var configuration = HTTPServerConfiguration(addresses: [])
        configuration.connectionsPerAddressMax = 1
        let limits = ConnectionLimits(configuration, loopCount: 1)
        let added = try ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1", "192.0.2.1", "192.0.2.2"]
            .map { address in
                let address = try #require(IPAddress(address))
                return limits.add(address, acceptedBy: 0) != nil
            }
        #expect(added == [true, false, true, true, true])
        limits.remove(try #require(IPAddress("2001:db8:0:1::1")), from: 0)
        let third = try #require(IPAddress("2001:db8:0:1::3"))
        let isAdded = limits.add(third, acceptedBy: 0) != nil
        #expect(isAdded)
    }

    @Test func ipv4AndIPv6ClientsConnect_whenNoHostIsGiven() async throws {
        let server = try TestServer { $0.addresses = [ListenAddress(":0")!] }
        let response = try await blocking { try server.client().get("/hello") }
        #expect(response.status == 200)
        #expect(server.server.addresses.map(\.ip.description) == ["::"] || !hasIPv6())
    }

    @Test func addressIsRefused_whenItIsInUse() throws {
        let server = try TestServer()
        let error = #expect(throws: ListenError.self) {
            _ = try TestServer { $0.addresses = [ListenAddress(host: "127.0.0.1", port: server.port)] }
        }
        #expect(error?.description == "cannot listen at 127.0.0.1:\(server.port): bind: Address already in use")
    }
}

private func hasIPv6() -> Bool {
    (try? TestServer { $0.addresses = [ListenAddress("[::1]:0")!] }) != nil
}

/// Opens descriptors until none is left, then closes `count` of them.
private func occupyDescriptors(sparing count: Int) -> [CInt] {
    var limit = rlimit(rlim_cur: 128, rlim_max: 128)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var occupied: [CInt] = []
    while true {
        let descriptor = dup(0)
        if descriptor < 0 { break }
        occupied.append(descriptor)
    }
    for _ in 0..<count { close(occupied.removeLast()) }
    return occupied
}

/// The CPU time of this process in seconds.
private func cpuTime() -> Double {
    Double(clock()) / Double(CLOCKS_PER_SEC)
}
