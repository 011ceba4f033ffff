import Basics
import HTTPTypes
import HTTPWire
import Testing

@Suite("Hostile bytes only cause errors")
struct ParserFuzzTests {
    /// Valid requests, alone and pipelined: the input of the mutations.
    static let corpus: [[UInt8]] = [
        Wire.request(),
        Wire.request("PUT /v1/apps/a/installations/b%20c HTTP/1.1", fields: ["Content-Length: 5"], body: "hello"),
        Wire.request("GET /a?b=c&d=%41 HTTP/1.0", fields: ["Connection: keep-alive"]) + Wire.tail,
        Wire.request("OPTIONS * HTTP/1.1", fields: ["Origin: https://a.example", "Connection: close"]),
        Wire.request("GET http://[::1]:80/a?b HTTP/1.1", fields: ["Accept: */*"]) + Wire.tail,
        Wire.chunked("5;a=b\r\nhello\r\n3\r\nabc\r\n0\r\nX-T: u\r\n\r\n", ["Expect: 100-continue"]) + Wire.tail,
        Wire.bytes("\r\n") + Wire.chunked("0\r\n\r\n") + Wire.request() + Wire.chunked("1\r\na\r\n0\r\n\r\n"),
    ]

    /// Bytes and words with a meaning for some parser.
    static let words: [String] = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", ";", ",", "%", "0", "\r\n\r\n", "\r\n ", "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: identity\r\n", "Host: b\r\n", "Connection: close\r\n",
        "Expect: 100-continue\r\n", "HTTP/1.1", "HTTP/2.0", "5\r\nhello\r\n", "0\r\n\r\n", "ffffffffffffffff",
        "\u{301}",
    ]

    @Test(arguments: 0..<8)
    func events_areTheSame_howeverTheBytesAreSplit(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var refused = 0
        var completed = 0
        for _ in 0..<400 {
            let bytes = Self.mutated(using: &generator)
            let whole = Transcript([bytes], bodyBytesMax: 64)
            let split = Transcript(Self.split(bytes, using: &generator), bodyBytesMax: 64)
            #expect(split == whole, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            refused += whole.failure == nil ? 0 : 1
            completed += whole.requests.filter(\.isComplete).count
        }
        // Both valid and invalid input must occur often.
        #expect(refused > 40 && completed > 40)
    }

    @Test func noise_isRefused_orWaitsForMore() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let count = Int.random(in: 1...200, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let whole = Transcript([bytes])
            #expect(whole.requests.isEmpty)
            #expect(Transcript(Self.split(bytes, using: &generator)) == whole)
        }
    }

    private static func mutated(using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = corpus[Int.random(in: 0..<corpus.count, using: &generator)]
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            mutate(&bytes, using: &generator)
        }
        return bytes
    }

    private static func mutate(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        let end = min(bytes.count, index + Int.random(in: 1...12, using: &generator))
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2: bytes.removeSubrange(index..<end)
        case 3: bytes.insert(contentsOf: bytes[index..<end], at: index)
        case 4: bytes.insert(contentsOf: words.randomElement(using: &generator)!.utf8, at: index)
        default: bytes.removeSubrange(index...)
        }
    }

    /// Splits the bytes into pieces at random positions.
    private static func split(_ bytes: [UInt8], using generator: inout SeededGenerator) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...max(1, min(rest.count, 40)), using: &generator)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
