import Basics
import Testing

@testable import HTTPServer

@Suite("A large request is read once it has memory")
struct MemoryTests {
    private let hello = "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n"
    private let head = "POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 10000\r\n\r\n"
    private let part = String(repeating: "x", count: 5_000)

    @Test func requestIsRefused_whenItGetsNoMemory() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive(head + part)
        #expect(!conversation.wantsInput)
        #expect(conversation.nextDeadline == .seconds(30))
        conversation.pass(.seconds(30))
        #expect(conversation.statuses == [503])
        #expect(conversation.text.contains("Retry-After: 1"))
    }

    @Test func requestGoesOn_whenItGetsMemoryInTime() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive(head + part)
        conversation.arrive(part)
        conversation.pass(.seconds(29))
        #expect(conversation.statuses == [])
        conversation.setMemoryShort(false)
        #expect(conversation.statuses == [200])
        #expect(conversation.heldByteCount == 0)
    }

    @Test func smallRequestNeedsNoMemory() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive(hello)
        conversation.arrive("POST /post HTTP/1.1\r\nHost: t\r\nContent-Length: 3000\r\n\r\n")
        conversation.arrive(String(repeating: "x", count: 3_000))
        #expect(conversation.statuses == [200, 200])
    }

    /// The handler has run: its work stands, and its client must learn of it.
    @Test func largeResponseIsSent_whileMemoryIsShort() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive("GET /big HTTP/1.1\r\nHost: t\r\n\r\n" + hello)
        #expect(conversation.statuses == [200, 200])
    }

    @Test func clientIsToldToContinue_onceThereIsMemory() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive(
            "POST /post HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 10000\r\n\r\n")
        #expect(conversation.statuses == [])
        conversation.setMemoryShort(false)
        #expect(conversation.statuses == [100])
        conversation.arrive(part + part)
        #expect(conversation.statuses == [100, 200])
    }

    /// A body that fits costs no second call of the application, in however many pieces it comes.
    @Test(arguments: [(1_000, 0), (9_000, 1)])
    func headIsChecked_onlyIfTheBodyNeedsMemory(_ bytes: Int, _ checks: Int) {
        let conversation = Conversation()
        conversation.arrive("POST /private HTTP/1.1\r\nHost: t\r\nContent-Length: \(bytes)\r\n\r\n")
        #expect(conversation.admitting.count == checks)
        conversation.admit()
        conversation.arrive(String(repeating: "x", count: bytes))
        #expect(conversation.statuses == [200])
    }

    @Test func headHasItsWholeTimeout_onceThereIsMemory() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive("GET /hello HTTP/1.1\r\nX: \(part)")
        conversation.pass(.seconds(29))
        conversation.setMemoryShort(false)
        #expect(conversation.nextDeadline == .seconds(10))
        conversation.arrive(part)
        conversation.pass(.seconds(10))
        #expect(conversation.statuses == [408])
    }

    @Test func bodyHasItsWholeTimeout_onceThereIsMemory() {
        let conversation = Conversation()
        conversation.setMemoryShort(true)
        conversation.arrive(head + part)
        conversation.pass(.seconds(29))
        conversation.setMemoryShort(false)
        conversation.pass(.seconds(29))
        #expect(conversation.statuses == [])
        conversation.pass(.seconds(1))
        #expect(conversation.statuses == [408])
    }

    @Test func nextHeadHasTheWholeTimeout_whenItsFirstPartCameWithAnother() {
        let conversation = Conversation()
        conversation.arrive("GET /hello HTTP/1.1\r\n")
        conversation.pass(.seconds(9))
        conversation.arrive("Host: t\r\n\r\nGET /hel")
        #expect(conversation.nextDeadline == .seconds(10))
    }

    @Test func creditEnds_whenNothingNeedsIt() {
        let conversation = Conversation()
        conversation.respondsAtOnce = false
        conversation.arrive(head + part + part)
        #expect(conversation.credit > 10_000)
        conversation.respond()
        #expect(conversation.credit == 0)
        conversation.arrive("GET /hello HTTP/1.1\r\nHost: t\r\nX: \(part)")
        #expect(conversation.credit > 5_000)
        conversation.arrive("\r\n\r\n")
        conversation.respond()
        #expect(conversation.credit == 0)
        #expect(conversation.statuses == [200, 200])
    }
}

@Suite("Memory is lent in turns")
struct CreditQueueTests {
    private let here = IPAddress("192.0.2.1")!
    private let there = IPAddress("192.0.2.2")!

    @Test func claimsAreGrantedInOrder_asFarAsTheyFit() {
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 100)
        let first = queue.claimed(60, of: here)
        let second = queue.claimed(60, of: here)
        let third = queue.claimed(40, of: here)
        #expect(first.isGranted && !second.isGranted && !third.isGranted)
        #expect(queue.end(first).map(\.bytes) == [60, 40])
        #expect(queue.lent == 100)
        #expect(queue.end(second).isEmpty && queue.end(third).isEmpty)
        #expect(queue.lent == 0)
        #expect(queue.end(third).isEmpty && queue.lent == 0)
    }

    @Test func networksTakeTurns() {
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 200)
        let first = queue.claimed(100, of: here)
        let others = (0..<3).map { _ in queue.claimed(50, of: here) }
        let late = queue.claimed(50, of: there)
        #expect(queue.end(first).map(\.network) == [here, there])
        #expect(late.isGranted && others.map(\.isGranted) == [true, false, false])
    }

    @Test func networkWaits_whileItHasItsShare() {
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 50)
        let first = queue.claimed(50, of: here)
        let second = queue.claimed(10, of: here)
        let other = queue.claimed(40, of: there)
        #expect(first.isGranted && !second.isGranted && other.isGranted)
        #expect(queue.end(other).isEmpty)
        #expect(queue.end(first).map(\.bytes) == [10])
    }

    @Test func claimBeyondTheShareIsGranted_whenTheNetworkHasNothing() {
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 50)
        let impossible = queue.claim(101, of: here)
        #expect(impossible == nil)
        let large = queue.claimed(80, of: here)
        #expect(large.isGranted)
    }

    @Test func nobodyOvertakes_whoseTurnItIs() {
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 100)
        let first = queue.claimed(60, of: here)
        let large = queue.claimed(90, of: there)
        let small = queue.claimed(10, of: here)
        #expect(!large.isGranted && !small.isGranted)
        #expect(queue.end(first).map(\.bytes) == [90, 10])
    }

    /// Whatever the order of claims, grants and withdrawals, what is lent is what was granted, within both limits, and
    /// a claim that nobody withdraws is granted in the end.
    @Test(arguments: 0..<50) func nothingIsLost_andNobodyStarves(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 75)
        let networks = (0..<4).map { IPAddress("192.0.2.\($0)")! }
        var claims: [CreditQueue.Claim] = []
        for _ in 0..<500 {
            if Bool.random(using: &random) {
                let network = networks.randomElement(using: &random)!
                claims.append(queue.claimed(.random(in: 1...90, using: &random), of: network))
            } else if let index = claims.indices.randomElement(using: &random) {
                _ = queue.end(claims.remove(at: index))
            }
            let granted = claims.filter(\.isGranted)
            #expect(queue.lent == granted.reduce(0) { $0 + $1.bytes } && queue.lent <= 100)
            for network in networks {
                let own = granted.filter { $0.network == network }
                #expect(own.count <= 1 || own.reduce(0) { $0 + $1.bytes } <= 75)
            }
        }
        while let next = claims.firstIndex(where: \.isGranted) { _ = queue.end(claims.remove(at: next)) }
        #expect(claims.isEmpty && queue.lent == 0 && queue.networkCount == 0)
    }

    @Test func withdrawnClaimsLeaveNothing() {
        var queue = CreditQueue(bytesMax: 100, networkBytesMax: 100)
        let first = queue.claimed(100, of: here)
        for _ in 0..<10_000 {
            let claim = queue.claimed(50, of: there)
            #expect(queue.end(claim).isEmpty)
        }
        #expect(queue.waitingCount < 10)
        let last = queue.claimed(50, of: there)
        #expect(queue.end(first).map(\.bytes) == [50])
        #expect(last.isGranted)
        _ = queue.end(last)
        #expect(queue.networkCount == 0)
    }
}

extension CreditQueue {
    /// A claim that can be granted some day.
    fileprivate mutating func claimed(_ bytes: Int, of address: IPAddress) -> Claim { claim(bytes, of: address)! }
}

@Suite("Unsent bytes are sent in order, and large bodies are not copied")
struct OutputBufferTests {
    private let large = [UInt8](repeating: 120, count: OutputBuffer.pieceBytesMin)

    @Test(arguments: [1, 7, 1_000, 100_000]) func bytesAreSentInOrder(_ step: Int) {
        var output = OutputBuffer()
        var (expected, sent): ([UInt8], [UInt8]) = ([], [])
        for round in 0..<6 {
            let head = Array("head \(round)".utf8)
            let body = round.isMultiple(of: 2) ? large : [UInt8(round)]
            output.bytes += head
            output.append(body: body, isConstant: round == 2)
            expected += head + body
            if round == 3 { sent += take(step, from: &output) }
            #expect(output.end == expected.count)
        }
        while !output.isEmpty { sent += take(step, from: &output) }
        #expect(sent == expected)
        #expect(output.sentTotal == expected.count && output.ownCount == 0)
    }

    private func take(_ count: Int, from output: inout OutputBuffer) -> [UInt8] {
        let before = output.count
        let piece = output.withUnsentBytes { bytes, hasMore in
            #expect(hasMore == (bytes.count < before))
            return Array(bytes.prefix(count))
        }
        _ = output.remove(piece.count)
        #expect(output.count == before - piece.count)
        return piece
    }

    @Test func constantBodiesAreNotCounted() {
        var output = OutputBuffer()
        output.bytes += Array("head".utf8)
        output.append(body: large, isConstant: true)
        #expect(output.ownCount == 4)
        output.append(body: large, isConstant: false)
        #expect(output.ownCount == 4 + large.count)
        _ = output.remove(4)
        _ = output.remove(100)
        #expect(output.ownCount == large.count)
        output.discard()
        #expect(output.isEmpty && output.ownCount == 0 && output.sentTotal == 104)
    }
}
