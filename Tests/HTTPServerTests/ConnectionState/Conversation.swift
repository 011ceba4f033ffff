import Basics
import HTTPTypes
import HTTPWire

@testable import HTTPApplication
@testable import HTTPServer

/// A request that is over.
struct Finished {
    let exchange: Exchange
    let outcome: Outcome

    var head: RequestHead? { exchange.head }
    var status: HTTPResponse.Status? { outcome.status }
    var isComplete: Bool { outcome.isComplete }
}

/// Drives a `ConnectionState` like the server. The test controls the socket, the handlers and the clock.
final class Conversation {
    private var state: ConnectionState
    private let router = Router(routes)
    /// The pieces that have arrived and were not read; each read returns one.
    private var arrived: [[UInt8]] = []
    private var hasEnded = false

    /// The current time of the test's clock.
    private(set) var now = ContinuousClock.now
    /// The bytes that the socket accepts until the next `makeWritable`.
    var room = Int.max
    /// The sent bytes that the client has not acknowledged.
    var unacknowledged = 0
    var breaksAtSend = false
    /// Whether handlers respond at once.
    var respondsAtOnce = true
    /// Whether routes admit heads at once.
    var admitsAtOnce = false
    /// Whether the memory that the connection asks for is not granted yet.
    private var isMemoryShort = false
    /// The memory that it waits for.
    private var claimedByteCount: Int?

    /// What the client received.
    private(set) var received: [UInt8] = []
    /// The handlers that have run so far.
    private(set) var runs = 0
    /// Requests whose handlers run.
    private(set) var running: [Exchange] = []
    /// The bodies of all requests that have run.
    private(set) var contents: [ObjectIdentifier: RequestContent] = [:]
    /// Requests whose heads the route checks.
    private(set) var admitting: [Exchange] = []
    /// The request whose response is being streamed.
    private(set) var streaming: Exchange?
    private(set) var cancelled: [Exchange] = []
    private(set) var finished: [Finished] = []
    /// The codes of the problems that the connection itself responded with.
    private(set) var problems: [String] = []
    private(set) var resumedStreams = 0
    private(set) var hasFinishedWriting = false
    /// Whether the descriptor was closed, and whether with RST.
    private(set) var closed: (reset: Bool, Void)?
    /// Calls on the descriptor after it was closed; must stay 0.
    private(set) var callsAfterClose = 0

    init(
        isHandshaking: Bool = false, isDraining: Bool = false,
        _ configure: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) {
        var configuration = HTTPServerConfiguration(addresses: [])
        configure(&configuration)
        state = ConnectionState(
            ConnectionRules(configuration), isHandshaking: isHandshaking, isDraining: isDraining)
        perform()
    }

    /// `/hello`, `/big` (150,000 bytes), `/stream/{seed}`, `/post` (up to 10,000 bytes), `/private` (the same, with a
    /// check of its heads), `/refused` (the same, but both the check and the handler refuse).
    static let routes = [
        Route(.get, "/hello") { _ in .text("hello") },
        Route(.get, "/big") { _ in .text(String(repeating: "b", count: 150_000)) },
        Route(.get, "/stream/{seed}") { _ in ServerResponse(.ok) },
        Route(.post, "/post", bodyBytesMax: 10_000) { _ in .text("posted") },
        Route(.post, "/private", bodyBytesMax: 10_000) { _ in .text("in") }
            .admitting { _ in ServerResponse(.continue) },
        Route(.post, "/refused", bodyBytesMax: 10_000) { _ in refusal }.admitting { _ in refusal },
    ]

    private static let refusal = ServerResponse.text("refused", status: .unauthorized)

    static let date = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
}

// MARK: - Events

extension Conversation {
    /// The client sends bytes, and the poller reports them.
    func arrive(_ text: String) { arrive(Array(text.utf8)) }

    func arrive(_ bytes: [UInt8]) {
        arrived.append(bytes)
        poll()
    }

    /// The client stops sending.
    func end() {
        hasEnded = true
        poll()
    }

    /// The poller reports the current readiness, like a level-triggered one.
    func poll() {
        let hasInput = !arrived.isEmpty || hasEnded
        if hasInput, state.interest.readable { state.becameReadable() }
        perform()
    }

    func makeWritable(room: Int = .max) {
        self.room = room
        if state.interest.writable { state.becameWritable() }
        poll()
    }

    /// An error of the socket, which the poller reports whatever the interest.
    func fail() {
        state.transportFailed()
        perform()
    }

    func pass(_ time: Duration) {
        now += time
        guard let deadline = state.nextDeadline, deadline <= now else { return }
        state.timePassed(now: now, unacknowledged: unacknowledged)
        poll()
    }

    func respond(_ response: ServerResponse = .text("hello"), to exchange: Exchange? = nil) {
        guard let exchange = exchange ?? running.first ?? admitting.first else { return }
        remove(exchange)
        try? state.respond(to: exchange, with: response, date: Self.date)
        poll()
    }

    /// The route checks the head: admits the request, or refuses it.
    func admit() {
        guard let exchange = admitting.first else { return }
        remove(exchange)
        answerAdmission(exchange)
        poll()
    }

    private func answerAdmission(_ exchange: Exchange) {
        if exchange.endpoint?.pattern == "/refused" {
            try? state.respond(to: exchange, with: Self.refusal, date: Self.date)
        } else {
            state.admitted(exchange)
        }
    }

    func beginStream(_ response: ServerResponse = ServerResponse(.ok)) {
        guard let exchange = running.first else { return }
        streaming = exchange
        _ = try? state.beginStream(of: exchange, response, date: Self.date)
        poll()
    }

    func stream(_ text: String, of exchange: Exchange) { stream(Array(text.utf8), of: exchange) }

    func stream(_ piece: [UInt8], of exchange: Exchange) {
        state.streamed(piece.span, of: exchange)
        state.producerActed()
        poll()
    }

    func mustWait(_ exchange: Exchange) -> Bool {
        state.streamMustWait(exchange, bytesMax: state.rules.outputHighWatermarkBytes)
    }

    func endStream(of exchange: Exchange) {
        remove(exchange)
        state.endStream(of: exchange)
        poll()
    }

    func setMemoryShort(_ isShort: Bool) {
        isMemoryShort = isShort
        if !isShort, let bytes = claimedByteCount.take() { state.granted(bytes) }
        poll()
    }

    func drain() {
        state.drain()
        poll()
    }

    func evict() {
        state.closeIfDispensable()
        poll()
    }

    private func remove(_ exchange: Exchange) {
        if streaming === exchange { streaming = nil }
        running.removeAll { $0 === exchange }
        admitting.removeAll { $0 === exchange }
    }
}

// MARK: - Actions

extension Conversation {
    var phase: ConnectionState.Phase { state.phase }
    var isIdle: Bool { state.isIdle }
    var nextDeadline: Duration? { state.nextDeadline.map { $0 - now } }
    var wantsInput: Bool { state.wantsInput }
    var credit: Int { state.intake.headCredit + state.intake.bodyCredit }
    var heldByteCount: Int { state.intake.heldByteCount + state.sending.heldByteCount }
    var text: String { String(decoding: received, as: UTF8.self) }

    /// The responses without interim ones: a client that sends its body unasked may get none. A part of an interim
    /// response at the end is left out, too.
    var finalText: String {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        let text = text.replacing(interim, with: "")
        for count in stride(from: interim.count - 1, to: "HTTP/1.1 ".count, by: -1)
        where text.hasSuffix(interim.prefix(count)) {
            return String(text.dropLast(count))
        }
        return text
    }

    /// The statuses of the responses that the client received, interim ones included.
    var statuses: [Int] {
        text.split(separator: "HTTP/1.1 ").compactMap { Int($0.prefix(3)) }
    }

    private func perform() {
        var turns = 0
        repeat {
            while let action = state.next() { perform(action) }
            if state.hasUnpolledInput { state.becameReadable() }
            turns += 1
        } while state.hasUnpolledInput && turns < 10_000
        state.returnCredit()
        state.updateDeadlines(now: now, unacknowledged: unacknowledged)
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .read(let bytesMax): read(bytesMax)
        case .send: send()
        case .route(let head): state.begin(exchange(head))
        case .admit(let exchange):
            if admitsAtOnce { answerAdmission(exchange) } else { admitting.append(exchange) }
        case .claim(let bytes, _): if isMemoryShort { claimedByteCount = bytes } else { state.granted(bytes) }
        case .run(let exchange, let content): run(exchange, content)
        case .refuse(let problem, let known):
            problems.append(problem.code)
            let exchange = known ?? exchange(nil, .problem(problem))
            try? state.respondLast(to: exchange, with: Self.render(problem), date: Self.date)
        case .cancel(let exchange):
            remove(exchange)
            cancelled.append(exchange)
        case .finished(let exchange, let outcome): finished.append(Finished(exchange: exchange, outcome: outcome))
        case .resumeStream: resumedStreams += 1
        case .finishWriting:
            recordCall()
            hasFinishedWriting = true
        case .close(let reset):
            recordCall()
            closed = (reset, ())
        }
    }

    private func recordCall() {
        if closed != nil { callsAfterClose += 1 }
    }

    private func read(_ bytesMax: Int) {
        recordCall()
        if !arrived.isEmpty {
            let piece = Array(arrived[0].prefix(bytesMax))
            arrived[0].removeFirst(piece.count)
            if arrived[0].isEmpty { arrived.removeFirst() }
            // The level-triggered poller would report further pieces at once.
            piece.withUnsafeBytes { state.received($0, hasMore: !arrived.isEmpty || hasEnded) }
        } else if hasEnded {
            state.inputEnded()
        } else {
            state.readWouldBlock()
        }
    }

    private func send() {
        recordCall()
        guard !breaksAtSend else { return state.transportFailed() }
        let piece = state.sending.output.withUnsentBytes { bytes, _ in Array(bytes.prefix(room)) }
        received += piece
        if room != .max { room -= piece.count }
        state.sent(piece.count)
    }

    private func run(_ exchange: Exchange, _ content: RequestContent) {
        running.append(exchange)
        contents[ObjectIdentifier(exchange)] = content
        runs += 1
        guard respondsAtOnce else { return }
        remove(exchange)
        guard let pieces = Self.pieces(of: exchange) else {
            try? state.respond(to: exchange, with: response(to: exchange), date: Self.date)
            return
        }
        _ = try? state.beginStream(of: exchange, ServerResponse(.ok), date: Self.date)
        for piece in pieces { state.streamed(piece.span, of: exchange) }
        state.endStream(of: exchange)
    }

    /// The pieces of a streamed response, which follow from the request's path; nil for other requests.
    static func pieces(of exchange: Exchange) -> [[UInt8]]? {
        guard case .endpoint(_, let captures) = exchange.target, captures.count > 0, let path = exchange.head?.path,
            let seed = UInt64(captures.text(0, of: path))
        else { return nil }
        var random = SeededGenerator(seed: seed)
        return (0..<Int.random(in: 0...8, using: &random)).map { number in
            [UInt8](
                repeating: UInt8(ascii: "a") + UInt8(number), count: Int.random(in: 1...10_000, using: &random))
        }
    }

    /// The response of the route's handler.
    func response(to exchange: Exchange) -> ServerResponse {
        switch (exchange.target, contents[ObjectIdentifier(exchange)]) {
        case (.endpoint(let endpoint, _), _) where endpoint.pattern == "/refused": Self.refusal
        case (.endpoint(let endpoint, _), .tooLarge): .text(endpoint.pattern, status: .contentTooLarge)
        case (.endpoint(let endpoint, _), _) where endpoint.pattern == "/big":
            .text(String(repeating: "b", count: 150_000))
        case (.endpoint(let endpoint, _), .bytes(let body)): .text("\(endpoint.pattern) \(body.count)")
        case (.endpoint(let endpoint, _), nil): .text(endpoint.pattern)
        case (.options(let allow), _): ServerResponse(.noContent, fields: [.allow: allow])
        case (.problem(let problem), _): Self.render(problem)
        }
    }

    private static func render(_ problem: Problem) -> ServerResponse {
        Application.renderPlainly(problem, .received("id"))
    }

    private func exchange(_ head: RequestHead?, _ target: Exchange.Target? = nil) -> Exchange {
        let found: Exchange.Target =
            switch head.map({ router.match($0) }) {
            case .endpoint(let endpoint, let captures): .endpoint(endpoint, captures: captures)
            case .options(let allow): .options(allow: allow)
            case .problem(let problem): .problem(problem)
            case nil: .problem(.internalError)
            }
        return Exchange(
            head, requestID: .received("id"), target: target ?? found, clientAddress: IPAddress("192.0.2.1")!,
            start: now)
    }
}
