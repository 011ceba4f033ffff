import EventLoop
import Logging
import Testing

@testable import HTTPApplication
@testable import HTTPServer

@Suite("Generated request ids are unique and random")
struct RequestIDTests {
    private static let idsPerLoop = 50_000

    /// Every buffer of the system's random words serves 16 ids.
    @Test func idsDiffer_acrossRefillsAndLoops() {
        let contexts = (0..<2).map { _ in
            LoopContext(
                loop: EventLoop(name: "ids"), configuration: HTTPServerConfiguration(addresses: []),
                application: Application(router: Router([])),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
        defer { for context in contexts { context.loop.stop() } }
        var words: Set<UInt64> = []
        for _ in 0..<Self.idsPerLoop {
            for context in contexts {
                guard case .generated(let high, let low) = context.makeRequestID() else { continue }
                words.formUnion([high, low])
            }
        }
        // Two of 200,000 random words are equal once in a billion runs.
        #expect(words.count == 2 * contexts.count * Self.idsPerLoop)
    }

    /// A word that is filled in part would have constant bits.
    @Test func everyBitIsSetInHalfOfTheWords() {
        var random = BufferedRandom()
        var counts = [Int](repeating: 0, count: UInt64.bitWidth)
        for _ in 0..<Self.idsPerLoop {
            let word = random.next()
            for bit in counts.indices { counts[bit] += Int(word >> UInt64(bit) & 1) }
        }
        // The standard deviation is 112.
        #expect(counts.allSatisfy { abs($0 - Self.idsPerLoop / 2) < 1_000 }, "\(counts)")
    }

    @Test func idHas32HexDigits() {
        #expect(RequestID.generated(1, .max).description == "0000000000000001ffffffffffffffff")
    }
}

@Suite("Dates of responses")
struct ResponseDateTests {
    @Test func dateIsRendered_asInTheStandard() {
        #expect(String(decoding: ResponseDate.render(784_111_777), as: UTF8.self) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
