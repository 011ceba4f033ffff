import HTTPTypes
import HTTPWire
import SeededRandom

@testable import HTTPServer

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

    /// What the client received.
    private(set) var received: [UInt8] = []
    /// The handlers that have run so far.
    private(set) var runs = 0
    /// Requests whose handlers run.
    private(set) var running: [Exchange] = []
    /// Requests whose heads the route checks.
    private(set) var admitting: [Exchange] = []
    /// The request whose response is being streamed.
    private(set) var streaming: Exchange?
    private(set) var cancelled: [Exchange] = []
    private(set) var finished: [Exchange] = []
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
        state = ConnectionState(ConnectionRules(configuration), isDraining: isDraining)
        state.isHandshaking = isHandshaking
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
        state.respond(to: exchange, with: response, date: Self.date)
        poll()
    }

    /// The route checks the head: admits the request, or refuses it.
    func admit() {
        guard let exchange = admitting.first else { return }
        if exchange.endpoint?.pattern == "/refused" { return respond(Self.refusal, to: exchange) }
        remove(exchange)
        state.admitted(exchange)
        poll()
    }

    func beginStream(_ response: ServerResponse = ServerResponse(.ok)) {
        guard let exchange = running.first else { return }
        streaming = exchange
        _ = state.beginStream(of: exchange, response, date: Self.date)
        poll()
    }

    func stream(_ text: String, of exchange: Exchange) { stream(Array(text.utf8), of: exchange) }

    func stream(_ piece: [UInt8], of exchange: Exchange) {
        state.streamed(piece.span, of: exchange)
        state.producerActed()
        poll()
    }

    func mustWait(_ exchange: Exchange) -> Bool { state.streamMustWait(exchange) }

    func endStream(of exchange: Exchange) {
        remove(exchange)
        state.endStream(of: exchange)
        poll()
    }

    func setMemoryShort(_ isShort: Bool) {
        state.isMemoryShort = isShort
        poll()
    }

    func drain() {
        state.drain()
        poll()
    }

    func evict() {
        state.evict()
        poll()
    }

    func completeHandshake() {
        state.isHandshaking = false
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
    var heldByteCount: Int { state.heldByteCount }
    var text: String { String(decoding: received, as: UTF8.self) }

    /// The statuses of the responses that the client received, interim ones included.
    var statuses: [Int] {
        text.split(separator: "HTTP/1.1 ").compactMap { Int($0.prefix(3)) }
    }

    private func perform() {
        var turns = 0
        repeat {
            while let action = state.next() { perform(action) }
            if state.hasMoreToRead { state.becameReadable() }
            turns += 1
        } while state.hasMoreToRead && turns < 10_000
        state.updateDeadlines(now: now, unacknowledged: unacknowledged)
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .read(let bytesMax): read(bytesMax)
        case .send: send()
        case .route(let head): state.begin(exchange(head))
        case .admit(let exchange): admitting.append(exchange)
        case .run(let exchange): run(exchange)
        case .refuse(let problem, let known):
            problems.append(problem.code)
            let exchange = known ?? exchange(nil, .problem(problem))
            state.respondLast(to: exchange, with: Self.render(problem), date: Self.date)
        case .cancel(let exchange):
            remove(exchange)
            cancelled.append(exchange)
        case .finished(let exchange): finished.append(exchange)
        case .resumeStream: resumedStreams += 1
        case .reportUnsendable: break
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
        let count = min(room, state.output.count)
        received += state.output.withUnsentBytes { Array($0.prefix(count)) }
        if room != .max { room -= count }
        state.sent(count, transportHasUnsentBytes: false)
    }

    private func run(_ exchange: Exchange) {
        running.append(exchange)
        runs += 1
        guard respondsAtOnce else { return }
        remove(exchange)
        guard let pieces = Self.pieces(of: exchange) else {
            return state.respond(to: exchange, with: Self.response(to: exchange), date: Self.date)
        }
        _ = state.beginStream(of: exchange, ServerResponse(.ok), date: Self.date)
        for piece in pieces { state.streamed(piece.span, of: exchange) }
        state.endStream(of: exchange)
    }

    /// The pieces of a streamed response, which follow from the request's path; nil for other requests.
    static func pieces(of exchange: Exchange) -> [[UInt8]]? {
        guard case .endpoint(_, let captures) = exchange.target, let seed = captures.first.flatMap({ UInt64($0) })
        else {
            return nil
        }
        var random = SeededGenerator(seed: seed)
        return (0..<Int.random(in: 0...8, using: &random)).map { number in
            [UInt8](
                repeating: UInt8(ascii: "a") + UInt8(number), count: Int.random(in: 1...10_000, using: &random))
        }
    }

    /// The response of the route's handler.
    static func response(to exchange: Exchange) -> ServerResponse {
        switch exchange.target {
        case .endpoint(let endpoint, _) where endpoint.pattern == "/refused": refusal
        case .endpoint(let endpoint, _) where exchange.isBodyTooLarge:
            .text(endpoint.pattern, status: .contentTooLarge)
        case .endpoint(let endpoint, _) where endpoint.pattern == "/big": .text(String(repeating: "b", count: 150_000))
        case .endpoint(let endpoint, _): .text("\(endpoint.pattern) \(exchange.body.count)")
        case .options(let allow): ServerResponse(.noContent, fields: [.allow: allow])
        case .problem(let problem): render(problem)
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
