import HTTPWire
import Testing

@Suite("Persistence (RFC 9112 section 9.3)")
struct PersistenceTests {
    @Test(arguments: [
        [], ["Connection: keep-alive"], ["Connection: upgrade"], ["Connection: closed"], ["Connection: x-close, ,"],
        ["Connection: \"close\""], ["Connection: "],
    ])
    func connection_persists_whenHTTP11DoesNotClose(_ fields: [String]) throws {
        let request = try onlyRequest(Wire.request(fields: fields))
        #expect(request.isKeepAlive)
    }

    @Test(arguments: [
        ["Connection: close"], ["connection: CLOSE"], ["Connection: keep-alive, close"],
        ["Connection: close,keep-alive"],
        ["Connection: upgrade ,\tClose , x"], ["Connection: keep-alive", "Connection: close"], ["Connection: ,,close"],
    ])
    func connection_isClosed_whenAsked(_ fields: [String]) throws {
        let transcript = transcript(Wire.request(fields: fields))
        #expect(transcript.requests.count == 1)
        #expect(transcript.requests.first?.isKeepAlive == false)
        #expect(transcript.isClosed)
    }

    @Test func http10_isClosed_unlessItAsks() throws {
        #expect(transcript(Wire.request("GET / HTTP/1.0")).isClosed)
        #expect(transcript(Wire.request("GET / HTTP/1.0", fields: ["Connection: keep-alive, close"])).isClosed)
        let request = try onlyRequest(Wire.request("GET / HTTP/1.0", fields: ["Connection: Keep-Alive"]))
        #expect(request.isKeepAlive)
    }

    @Test func body_isRead_beforeTheConnectionIsClosed() throws {
        let request = try onlyRequest(
            Wire.request("POST / HTTP/1.1", fields: ["Connection: close", "Content-Length: 5"], body: "hello"))
        #expect(request.bodyText == "hello")
    }
}
