import EventLoop
import Foundation
import HTTPTypes
import HTTPWire
import Testing

@testable import HTTPServer

@Suite("Unauthenticated clients use little memory", .timeLimit(.minutes(5)))
struct HeldMemoryTests {
    private static let part = String(repeating: "x", count: 200_000)

    @Test func bodiesAreNotRead_whenTheMemoryBudgetIsSpent_andOthersAreServed() async throws {
        let server = try TestServer {
            $0.heldBytesMax = 1_000_000
            $0.timeouts.memory = .milliseconds(10)
        }
        try await blocking {
            let hoarders = try (0..<20).map { _ in try server.client() }
            for client in hoarders {
                try client.send("POST /length HTTP/1.1\r\nHost: t\r\nContent-Length: 300000\r\n\r\n")
                _ = client.sendWithoutWaiting(Array(Self.part.utf8)[...])
            }
            // Requests that arrived before the budget was used up can continue; at least one must be refused.
            #expect(server.events.waitForRequests(1))
            #expect(server.events.requests.first?.status == .serviceUnavailable)
            #expect(try server.client().get("/hello").status == 200)
            #expect(try server.client().post("/echo", "small").status == 200)
        }
    }

    @Test func largeResponseIsRefused_onceTheMemoryBudgetIsSpent() async throws {
        let server = try TestServer(
            {
                $0.heldBytesMax = 100_000
                $0.timeouts.memory = .seconds(60)
            },
            routes: { loop, events in
                let page = String(repeating: "p", count: 50_000)
                return TestServer.routes(loop, events) + [
                    Route(.get, "/page") { _ in
                        // The budget may be spent while the handler runs.
                        await events.gate.wait()
                        return .text(page)
                    }
                ]
            })
        try await blocking {
            let (hoarder, client, other) = (try server.client(), try server.client(), try server.client())
            try client.send("GET /page HTTP/1.1\r\nHost: t\r\n\r\n")
            try hoarder.send("POST /length HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n")
            try hoarder.send(String(repeating: "x", count: 900_000), untilSilent: { _ = try other.get("/hello") })
            server.events.gate.open()
            let response = try client.response()
            #expect((response.status, response.fields["connection"]) == (503, "close"))
            #expect(response.fields["retry-after"] == "1")
            #expect(try server.client().get("/hello").status == 200)
        }
    }

    @Test func bodyIsNotRead_whenTheRouteDoesNotAdmitIt() async throws {
        let server = try TestServer(routes: { _, events in
            [
                Route(.post, "/private", bodyBytesMax: 8 << 20) { request in
                    events.add("handler \(try request.body.count)")
                    return .text("in")
                }.admitting { request in
                    guard request.head[.authorization] != nil else {
                        throw Problem(.unauthorized, code: "who", detail: "Say who you are.")
                    }
                    return ServerResponse(.continue)
                }
            ]
        })
        try await blocking {
            let stranger = try server.client()
            try stranger.send("POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: 8000000\r\n\r\nx")
            let refusal = try stranger.response()
            #expect((refusal.status, refusal.fields["connection"]) == (401, "close"))
            let friend = try server.client()
            let head = "POST /private HTTP/1.1\r\nHost: t\r\nAuthorization: me\r\nContent-Length: 200000\r\n\r\n"
            try friend.send(head)
            try friend.send(Self.part)
            #expect(try friend.response().body == "in")
            #expect(server.events.count("handler 200000") == 1)
        }
    }

    @Test func chargesAddUp() {
        let budget = MemoryBudget(bytesMax: 100)
        budget.charge(before: 0, now: 60)
        #expect(!budget.isSpent)
        budget.charge(before: 0, now: 40)
        #expect(budget.isSpent)
        budget.charge(before: 60, now: 0)
        #expect(!budget.isSpent)
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
