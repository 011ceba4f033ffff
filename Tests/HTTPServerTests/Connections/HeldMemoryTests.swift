import EventLoop
import Foundation
import HTTPTypes
import HTTPWire
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Requests and responses share the memory of a loop", .timeLimit(.minutes(5)))
struct HeldMemoryTests {
    private static let part = String(repeating: "x", count: 200_000)

    /// `/upload` (up to 1,000,000 bytes, checks its heads), `/page` (200,000 bytes) and `/constant` (the same bytes, as
    /// a constant body).
    @Sendable private static func routes(_ loop: EventLoop, _ events: EventLog) -> [Route] {
        let page = Array(part.utf8)
        return TestServer.routes(loop, events) + [
            Route(.post, "/upload", bodyBytesMax: 1_000_000) { .text("\(try $0.body.count)") }
                .admitting { _ in ServerResponse(.continue) },
            Route(.get, "/page") { _ in ServerResponse(.ok, body: .bytes(page)) },
            Route(.get, "/constant") { _ in ServerResponse(.ok, body: .constant(page)) },
        ]
    }

    /// More than the loop may hold together, all at one pace.
    @Test func largeBodiesArriveInTurn() async throws {
        let server = try TestServer({ $0.heldBytesMax = 4_000_000 }, routes: Self.routes)
        try await blocking {
            let body = Array(String(repeating: "x", count: 1_000_000).utf8)
            let clients = try (0..<30).map { _ in try server.client() }
            let head = "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n"
            for client in clients { try client.send(head) }
            var rests = clients.map { _ in body[...] }
            let deadline = ContinuousClock.now + .seconds(60)
            while rests.contains(where: { !$0.isEmpty }), .now < deadline {
                for (index, client) in clients.enumerated() {
                    rests[index] = rests[index].dropFirst(client.sendWithoutWaiting(rests[index].prefix(20_000)))
                }
                // Small requests pass all the while.
                #expect(try server.client().get("/hello").status == 200)
            }
            for client in clients { #expect(try client.response().body == "1000000") }
        }
    }

    @Test func departureIsNoticed_whileABodyWaitsForMemory() async throws {
        let server = try TestServer({ $0.heldBytesMax = 1_200_000 }, routes: Self.routes)
        try await blocking {
            let (hoarder, client, half) = (try server.client(), try server.client(), try server.client())
            let head = "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n"
            try hoarder.send(head + Self.part)
            // Few enough that the end of the stream fits into the socket's buffer after them.
            let part = Self.part.prefix(20_000)
            try client.send(head + part)
            try half.send("POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 20000\r\n\r\n" + part)
            client.finishSending()
            #expect(server.events.waitForRequests(1))
            #expect(server.events.requests.first?.isComplete == false)
            // This one has sent all that it promised.
            half.finishSending()
            hoarder.close()
            #expect(try half.response().body == "20000")
        }
    }

    @Test func readersOfConstantBodiesTakeNoMemory() async throws {
        let server = try TestServer({ $0.heldBytesMax = 1_000_000 }, routes: Self.routes)
        try await blocking {
            let readers = try (0..<40).map { _ in try server.client(receiveBufferBytes: 1_024) }
            for reader in readers { try reader.send("GET /constant HTTP/1.1\r\nHost: t\r\n\r\n") }
            #expect(try server.client().get("/page").body == Self.part)
            #expect(try server.client().post("/upload", Self.part).body == "200000")
            for reader in readers { #expect(try reader.response().body == Self.part) }
        }
    }

    @Test func slowestReaderIsDisconnected_whenTooMuchWaits() async throws {
        let server = try TestServer(
            { $0.heldBytesMax = 8_000_000 },
            routes: { loop, events in
                let page = [UInt8](repeating: 120, count: 12_000_000)
                return Self.routes(loop, events) + [
                    Route(.get, "/large") { _ in ServerResponse(.ok, body: .bytes(page)) }
                ]
            })
        try await blocking {
            let slow = try server.client(receiveBufferBytes: 1_024)
            let other = try server.client(receiveBufferBytes: 1_024)
            for client in [slow, other] {
                try client.send("GET /large HTTP/1.1\r\nHost: t\r\n\r\n")
                _ = try server.client().get("/hello")
            }
            #expect(slow.waitForReset())
            #expect(try other.response().bytes.count == 12_000_000)
            #expect(try server.client().get("/page").status == 200)
        }
    }
}

@Suite("Long work runs off the loop", .timeLimit(.minutes(5)))
struct OffLoopTests {
    @Test func workRunsOffTheLoop_andReturnsToIt() async throws {
        let server = try TestServer(routes: { loop, events in
            [
                Route(.get, "/") { _ in
                    let wasElsewhere = await offLoop { !loop.isCurrent }
                    events.add(wasElsewhere ? "elsewhere" : "on the loop")
                    events.add(loop.isCurrent ? "back" : "astray")
                    do {
                        try await offLoop { () throws(CancellationError) in throw CancellationError() }
                    } catch { events.add("error \(loop.isCurrent)") }
                    return .text("done")
                }
            ]
        })
        let response = try await blocking { try server.client().get("/") }
        #expect(response.status == 200)
        #expect(server.events.count("elsewhere") == 1)
        #expect(server.events.count("back") == 1)
        #expect(server.events.count("error true") == 1)
    }
}

@Suite("A stream has one writer, and its head is sent at once", .timeLimit(.minutes(5)))
struct StreamWriterTests {
    @Test func headArrives_beforeTheProducerWrites() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try TestServer(routes: { _, _ in
            [
                Route(.get, "/") { _ in
                    ServerResponse(
                        .ok,
                        body: .stream { writer in
                            for await _ in gate {}
                            try await writer.write(Array("row".utf8))
                        })
                }
            ]
        })
        try await blocking {
            let client = try server.client()
            try client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            let head = try client.response(toHead: true)
            #expect(head.fields["transfer-encoding"] == "chunked")
            open.finish()
            #expect(try client.chunk() == Array("row".utf8))
        }
    }

    @Test func secondWriterIsRefused_whileTheFirstWaits() async throws {
        let server = try TestServer(routes: { _, events in
            [
                Route(.get, "/") { _ in
                    ServerResponse(
                        .ok,
                        body: .stream { writer in
                            let piece = [UInt8](repeating: 120, count: 100_000)
                            try await withThrowingTaskGroup(of: Bool.self) { group in
                                for _ in 0..<2 {
                                    group.addTask {
                                        do {
                                            for _ in 0..<50 { try await writer.write(piece) }
                                            return true
                                        } catch is ConcurrentWrite {
                                            return false
                                        }
                                    }
                                }
                                let outcomes = try await group.reduce(into: []) { $0.append($1) }
                                events.add("\(outcomes.filter { $0 }.count) finished")
                            }
                        })
                }
            ]
        })
        try await blocking {
            let client = try server.client()
            #expect(try client.get("/").bytes.count >= 5_000_000)
        }
        #expect(server.events.count("1 finished") == 1)
    }
}

@Suite("The server's run returns after its handlers", .timeLimit(.minutes(5)))
struct TaskTreeTests {
    @Test func runReturns_whenTheLastHandlerHasEnded() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let server = try TestServer(routes: { _, events in
            [
                Route(.get, "/") { _ in
                    events.add("begun")
                    // Ignores cancellation.
                    await Task { for await _ in gate {} }.value
                    events.add("ended")
                    return .text("late")
                }
            ]
        })
        let isOver = Task {
            await server.waitForEnd()
            return server.events.count("ended")
        }
        try await blocking {
            let client = try server.client()
            try client.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n")
            #expect(server.events.wait(for: "begun"))
            server.cancel()
            server.server.abort()
            #expect(throws: TestClient.Failure.reset) { try client.response() }
        }
        open.finish()
        #expect(await isOver.value == 1)
    }

    @Test func everyRequestGetsATask_whenManyRunAtOnce() async throws {
        let server = try TestServer()
        try await blocking {
            let count = 2 * HandlerTasks.parkedMax
            let clients = try (0..<count).map { _ in try server.client() }
            for round in 1...2 {
                server.events.gate.close()
                for client in clients { try client.send("GET /gate HTTP/1.1\r\nHost: t\r\n\r\n") }
                #expect(server.events.wait(for: "at the gate", times: round * count))
                server.events.gate.open()
                for client in clients { #expect(try client.response().body == "through") }
            }
        }
        server.cancel()
        await server.waitForEnd()
    }
}
