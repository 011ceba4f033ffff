import EventLoop
import Foundation
import HTTPTypes
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Streamed responses are compressed for clients that prefer it", .timeLimit(.minutes(5)))
struct CompressionTests {
    private static let gzip = "Accept-Encoding: gzip\r\n"
    private static let rows = String(repeating: String(repeating: "r", count: 399) + "\n", count: 10_000)

    /// `/hello`, `/rows` (4 MB in pieces of 400 bytes), `/large` (one piece of 4 MB), `/empty`, `/tagged` (with `ETag`
    /// and `Vary`), `/encoded` (zstd), `/fail` (after a row), `/feed` (a row, a flush, and the end once the
    /// gate is open).
    private static func server() throws -> TestServer {
        try TestServer(routes: { loop, events in
            let routes =
                TestServer.routes(loop, events).filter { $0.pattern == "/rows" || $0.pattern == "/hello" } + [
                    stream("/large") { try await $0.write(Array(rows.utf8)) },
                    stream("/empty") { _ in },
                    stream("/tagged", fields: [.eTag: "\"1\"", .vary: "Origin"]) { try await $0.write([65]) },
                    stream("/encoded", fields: [.contentEncoding: "zstd"]) { try await $0.write(Array("z".utf8)) },
                    stream("/fail") { writer in
                        try await writer.write(Array("row\n".utf8))
                        try await writer.flush()
                        throw ConnectionClosed()
                    },
                    stream("/feed") { writer in
                        try await writer.flush()
                        try await writer.write(Array("first\n".utf8))
                        try await writer.flush()
                        await events.gate.wait()
                        try await writer.write(Array("second\n".utf8))
                    },
                ]
            return routes.map { route in
                route.wrapped { next in { try StreamCompression.apply(to: try await next($0), for: $0) } }
            }
        })
    }

    private static func stream(
        _ path: String, fields: HTTPFields = [:],
        _ produce: @escaping @Sendable (ResponseBodyWriter) async throws -> Void
    ) -> Route {
        Route(.get, path) { _ in ServerResponse(.ok, fields: fields, body: .stream(produce)) }
    }

    private func get(_ path: String, _ fields: String) async throws -> TestClient.Response {
        try await Self.server().serve { _, client in try client.get(path, fields) }
    }

    @Test(arguments: ["/rows", "/large"])
    func bodyDecompresses_howeverItWasWritten(path: String) async throws {
        let response = try await get(path, Self.gzip)
        #expect(response.fields["content-encoding"] == "gzip")
        #expect(response.fields["vary"] == "Accept-Encoding")
        #expect(response.bytes.count < 100_000)
        let body = try Gunzip(response.bytes)
        #expect(body.isComplete && body.text == Self.rows)
    }

    @Test func rowDecompresses_whenItWasFlushed() async throws {
        try await Self.server().serve { server, client in
            try client.send("GET /feed HTTP/1.1\r\nHost: test\r\n\(Self.gzip)\r\n")
            #expect(try client.response(toHead: true).status == 200)
            var bytes: [UInt8] = []
            while try Gunzip(bytes).text != "first\n" { bytes += try client.chunk() }
            #expect(try !Gunzip(bytes).isComplete)
            server.events.gate.open()
            while try !Gunzip(bytes).isComplete { bytes += try client.chunk() }
            #expect(try Gunzip(bytes).text == "first\nsecond\n")
        }
    }

    @Test func fieldsEqualThoseOfGET_whenTheMethodIsHEAD() async throws {
        try await Self.server().serve { _, client in
            try client.send("HEAD /rows HTTP/1.1\r\nHost: test\r\n\(Self.gzip)\r\n")
            #expect(try client.response(toHead: true).fields["content-encoding"] == "gzip")
            #expect(try client.get("/hello").body == "hello")
        }
    }

    @Test func bodyEndsWithTheConnection_whenTheClientIsOfHTTP10() async throws {
        try await Self.server().serve { _, client in
            try client.send("GET /rows HTTP/1.0\r\n\(Self.gzip)\r\n")
            let body = try Gunzip(try client.response().bytes)
            #expect(body.isComplete && body.text == Self.rows)
        }
    }

    @Test func memberIsIncomplete_whenTheProducerFails() async throws {
        _ = try await Self.server().serve { _, client in
            #expect(throws: TestClient.Failure.self) { try client.get("/fail", Self.gzip) }
        }
    }

    @Test func bodyIsPlain_whenTheClientDoesNotAskForGzip() async throws {
        let response = try await get("/rows", "")
        #expect(response.body == Self.rows)
        #expect(response.fields["content-encoding"] == nil)
        #expect(response.fields["vary"] == "Accept-Encoding")
    }

    @Test func responseIsUnchanged_whenItIsNotStreamedOrHasACoding() async throws {
        let hello = try await get("/hello", Self.gzip)
        #expect(hello.body == "hello" && hello.fields["vary"] == nil)
        let encoded = try await get("/encoded", Self.gzip)
        #expect(encoded.body == "z" && encoded.fields["content-encoding"] == "zstd")
    }

    @Test func entityTagIsWeak_whenTheBodyIsCompressed() async throws {
        #expect(try await get("/tagged", "").fields["etag"] == "\"1\"")
        let response = try await get("/tagged", Self.gzip)
        #expect(response.fields["etag"] == "W/\"1\"")
        #expect(response.fields["vary"] == "Origin, Accept-Encoding")
    }

    @Test func responseIs406_whenTheClientAcceptsNoCoding() async throws {
        let response = try await get("/rows", "Accept-Encoding: br, identity;q=0\r\n")
        #expect(response.status == 406)
        #expect(response.body.hasPrefix("no-acceptable-encoding"))
    }
}

@Suite("Compression of more than some bytes leaves the loop to others", .timeLimit(.minutes(5)))
struct CompressionOffLoopTests {
    /// Compresses pieces on a loop. Equal bytes fill hardly any output, so only the compression can leave the loop.
    ///
    /// - Returns: the number of pieces during which the loop ran another job.
    private func interruptions(_ pieces: Int, ofBytes count: Int) async throws -> Int {
        let loop = EventLoop(name: "gzip")
        defer { loop.stop() }
        return try await Task(executorPreference: loop) {
            let gzip = try GzipWriter(ResponseBodyWriter(write: { _ in }))
            // The header is the first output.
            try await gzip.flush()
            let events = EventLog()
            var interruptions = 0
            for number in 0..<pieces {
                loop.execute { events.add("job \(number)") }
                try await gzip.write([UInt8](repeating: 120, count: count))
                #expect(loop.isCurrent)
                interruptions += events.count("job \(number)")
            }
            return interruptions
        }.value
    }

    /// Where the other thread has compressed a piece before the loop's thread waits for it, no job runs: that is rare.
    @Test(arguments: [GzipWriter.loopBytesMax + 1, GzipWriter.pieceBytes, 3 * GzipWriter.pieceBytes])
    func otherJobsRun_whileAPieceIsCompressed(bytes: Int) async throws {
        #expect(try await interruptions(200, ofBytes: bytes) > 100)
    }

    @Test func smallPieceIsCompressedOnTheLoop() async throws {
        #expect(try await interruptions(200, ofBytes: GzipWriter.loopBytesMax) == 0)
    }
}

@Suite("Accept-Encoding is parsed by RFC 9110, section 12.5.3")
struct AcceptEncodingTests {
    @Test(arguments: [
        ["gzip"], ["GZIP"], ["x-gzip"], ["*"], ["br, gzip"], ["br", "gzip"], ["gzip;q=0.001"], ["gzip ; q=0.5 , br"],
        ["gzip;Q=1.000"], ["identity, gzip"], ["identity;q=0.5, gzip;q=0.5"], ["identity;q=0, *"], [",, gzip,"],
    ])
    func gzipIsPreferred_whenItIsRequested(values: [String]) {
        #expect(AcceptEncoding(values).prefersGzip)
    }

    @Test(arguments: [
        [], [""], ["identity"], ["br"], ["gzip;q=0"], ["gzip;q=0.000, *"], ["*;q=0"], ["gzip;q=0.4, identity;q=0.5"],
        ["gzip;q=2"], ["gzip;q=1.001"], ["gzip;q=0.1234"], ["gzip;q="], ["gzip;q=x"], ["gzipped"], ["gzip\u{301}"],
    ])
    func gzipIsNotPreferred_whenItIsNotRequestedOrTheWeightIsMalformed(values: [String]) {
        #expect(!AcceptEncoding(values).prefersGzip)
    }

    @Test func identityIsAccepted_unlessItIsExcluded() {
        for values in [[], [""], ["gzip"], ["br;q=0"], ["*;q=0, identity"]] {
            #expect(AcceptEncoding(values).acceptsIdentity)
        }
        for values in [["identity;q=0"], ["*;q=0"], ["gzip, *;q=0.000"]] {
            #expect(!AcceptEncoding(values).acceptsIdentity)
        }
    }
}
