import HTTPApplication
import HTTPWire

/// The input of one connection: what was read, the requests in it, and the memory for them.
///
/// Without credit it holds at most `heldBytesFree`: input, the head of the current request, and the part of its body
/// that has arrived. For more, it needs credit first.
struct Intake: ~Copyable {
    /// Reads from a connection before others get their turn.
    static let readsPerTurnMax = 4
    /// More than the largest TLS record (RFC 8446 section 5.2), which must be complete before its bytes can be read.
    private static let recordBytesMax = 17 * 1024

    /// Memory that the connection waits for.
    enum Need {
        case head, body
    }

    private let rules: ConnectionRules
    private(set) var parser: RequestParser
    /// The client has stopped sending.
    private(set) var hasEnded = false
    private var isReadable = false
    private var readsLeft = readsPerTurnMax
    /// Encrypted input that the transport holds.
    private var encryptedByteCount = 0

    /// The current request, until its response is written.
    private(set) var exchange: Exchange?
    /// The route accepts the head, or accepts every head.
    private(set) var isAdmitted = true
    /// The client was told to send the body, or did not ask.
    private var isAwaited = true
    private var body: [UInt8] = []
    /// The bytes of the body that the connection or the handler has.
    private var keptByteCount = 0
    /// The bytes of the body received so far, dropped ones included.
    private(set) var bodyByteCount = 0
    private var isBodyTooLarge = false

    /// The memory that was asked for and not granted yet.
    private(set) var need: Need?
    /// The memory that was granted, beyond `heldBytesFree`.
    private(set) var headCredit = 0
    private(set) var bodyCredit = 0

    init(_ rules: ConnectionRules) {
        self.rules = rules
        parser = RequestParser(limits: rules.wire)
    }
}

// MARK: - Reading

extension Intake {
    /// The poller reports that there is something to read, or the driver continues reading.
    mutating func becameReadable() {
        isReadable = true
        readsLeft = Self.readsPerTurnMax
    }

    mutating func readWouldBlock() { isReadable = false }

    mutating func ended() {
        isReadable = false
        hasEnded = true
    }

    /// - Parameter hasMore: the transport holds more input, which no poller reports.
    mutating func received(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) {
        isReadable = hasMore
        parser.append(bytes)
    }

    /// Input that nobody needs any more.
    mutating func dropped(hasMore: Bool) { isReadable = hasMore }

    mutating func update(encryptedByteCount: Int) { self.encryptedByteCount = encryptedByteCount }

    /// Whether there is room for input. Without room, TCP slows the client down.
    var hasRoom: Bool {
        !hasEnded && need == nil && parser.unreadByteCount < rules.pipelinedBytesMax && room > 0
    }

    /// Whether there is more to read that no poller reports.
    var hasUnpolledInput: Bool { isReadable }

    /// Takes one of the turn's reads, if there is something to read.
    mutating func takeRead() -> Bool {
        guard isReadable, readsLeft > 0 else { return false }
        readsLeft -= 1
        return true
    }

    /// The bytes of requests that the connection holds.
    var heldByteCount: Int {
        parser.unreadByteCount + encryptedByteCount + keptByteCount + (exchange?.headByteCount ?? 0)
    }

    /// The bytes that may be read now.
    var room: Int { rules.heldBytesFree + headCredit + bodyCredit - heldByteCount }

    /// Between requests, with no byte of the next one.
    var isIdle: Bool { exchange == nil && parser.phase == .idle }
}

// MARK: - Requests

extension Intake {
    var canParseOn: Bool { parser.phase != .failed && parser.phase != .closed }

    mutating func nextEvent() throws(WireError) -> RequestEvent? { try parser.nextEvent() }

    /// No further input is parsed.
    mutating func close() { parser.close() }

    /// - Throws: if the input ends in the middle of a request.
    mutating func finish() throws(WireError) { try parser.finish() }

    /// A request begins whose head has arrived.
    mutating func begin(_ exchange: Exchange) {
        self.exchange = exchange
        (bodyByteCount, isBodyTooLarge) = (0, false)
        isAdmitted = !exchange.hasAdmission
        isAwaited = !exchange.expectsContinue
        guard let head = exchange.head, head.bodyFraming != .none else { return }
        let wanted = exchange.bodyBytesMax
        isBodyTooLarge =
            switch head.bodyFraming {
            case .length(let length): length > wanted
            case .chunked: wanted == 0
            case .none: false
            }
        // With `Expect: 100-continue`, an unwanted body gets the final response at once. Without it, up to
        // `droppedBodyBytesMax` is read and discarded, so that the connection survives.
        parser.bodyBytesMax = max(wanted, rules.droppedBodyBytesMax)
        if head.expectsContinue, isBodyTooLarge { refuseBody() }
    }

    /// Whether the handler can run although the body has not arrived: it is not wanted.
    var isBodyRefused: Bool { exchange != nil && isBodyTooLarge && !canParseOn }

    /// The body exceeds its limit. The rest of the input is not parsed as a request.
    mutating func refuseBody() {
        parser.close()
        isBodyTooLarge = true
        dropBody()
    }

    mutating func append(body bytes: ArraySlice<UInt8>) {
        guard let exchange else { return }
        bodyByteCount += bytes.count
        if bodyByteCount > exchange.bodyBytesMax { isBodyTooLarge = true }
        guard !isBodyTooLarge else { return dropBody() }
        if body.isEmpty, case .length(let length)? = exchange.head?.bodyFraming { body.reserveCapacity(length) }
        body.append(contentsOf: bytes)
        keptByteCount = body.count
    }

    mutating func dropBody() {
        body = []
        keptByteCount = 0
    }

    /// Hands the body over to the handler. It counts as held until the request ends.
    mutating func takeContent() -> RequestContent {
        if isBodyTooLarge { return .tooLarge }
        var content: [UInt8] = []
        swap(&content, &body)
        return .bytes(content)
    }

    /// The response is written, or never will be.
    mutating func end() -> Exchange? {
        dropBody()
        bodyCredit = 0
        need = nil
        return exchange.take()
    }
}

// MARK: - Memory for the rest of a request

extension Intake {
    /// What must happen before the rest of a request can be read.
    enum Step {
        /// Its route must check the head.
        case admit(Exchange)
        /// The memory must be granted.
        case claim(bytes: Int)
        /// The client waits for `100 Continue`.
        case sendContinue
    }

    /// The next step of a request that is not complete.
    mutating func prepareToRead() -> Step? {
        guard need == nil else { return nil }
        guard let exchange else { return room > 0 ? nil : claim(.head, rules.pipelinedBytesMax + Self.recordBytesMax) }
        let missing = missingByteCount(exchange)
        let needsCredit = bodyCredit == 0 && max(missing, 1) > room
        if !isAdmitted, needsCredit || !isAwaited { return .admit(exchange) }
        if needsCredit { return claim(.body, heldByteCount + missing + Self.recordBytesMax) }
        guard !isAwaited else { return nil }
        isAwaited = true
        return .sendContinue
    }

    private mutating func claim(_ need: Need, _ bytes: Int) -> Step {
        self.need = need
        return .claim(bytes: bytes)
    }

    /// The bytes of the body that are still to be kept, at most.
    private func missingByteCount(_ exchange: Exchange) -> Int {
        if isBodyTooLarge { return 0 }
        if case .length(let length)? = exchange.head?.bodyFraming { return length - bodyByteCount }
        return exchange.bodyBytesMax - bodyByteCount
    }

    /// The bytes that must still arrive before the request can be complete; nil if that is not known.
    var expectedByteCount: Int? {
        guard let exchange, case .length(let length)? = exchange.head?.bodyFraming else { return nil }
        return length - bodyByteCount
    }

    mutating func admit() { isAdmitted = true }

    mutating func grant(_ bytes: Int) {
        switch need {
        case .head: headCredit = bytes
        case .body: (headCredit, bodyCredit) = (0, bytes)
        case nil: break
        }
        need = nil
    }

    mutating func withdrawClaim() { need = nil }

    /// Gives up the credit for heads once what is held fits without it.
    mutating func returnCredit() {
        if headCredit > 0, need == nil, heldByteCount < rules.heldBytesFree { headCredit = 0 }
    }
}
