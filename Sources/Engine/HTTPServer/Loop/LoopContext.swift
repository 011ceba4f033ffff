import Basics
import EventLoop
import Glibc
import HTTPApplication
import HTTPTypes
import HTTPWire
import Logging

/// The state that the connections of one loop share. Used on its loop only.
final class LoopContext: @unchecked Sendable {
    /// Bytes read from a socket at once.
    static let readBytesMax = 64 * 1024
    /// The largest output buffer kept for the next response.
    static let spareBytesMax = 64 * 1024

    let loop: EventLoop
    let configuration: HTTPServerConfiguration
    let rules: ConnectionRules
    let application: Application
    private let forwarding: UntrustedForwarding?
    let logger: Logger
    let handlers: HandlerTasks
    let memory: MemoryBudget
    /// The connections without a request, the one that has none for longest first.
    let idle = ConnectionList()
    /// Those that have not sent a request yet.
    let silent = ConnectionList()
    /// Set once, when the server begins to stop: from then on every response is its connection's last.
    var isDraining = false

    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readBytesMax, alignment: 16)
    var date = ResponseDate()
    /// A spare output buffer. A connection returns its buffer when it is empty, and takes this one for its next
    /// response.
    var spareOutput: [UInt8] = []
    private var random = BufferedRandom()
    private var isRelievingMemory = false

    /// - Parameter forwarding: shared by all loops; nil: nothing is reported.
    init(
        loop: EventLoop, configuration: HTTPServerConfiguration, application: Application,
        forwarding: UntrustedForwarding? = nil, logger: Logger
    ) {
        self.loop = loop
        self.configuration = configuration
        self.application = application
        self.forwarding = forwarding
        self.logger = logger
        rules = ConnectionRules(configuration)
        handlers = HandlerTasks(loop: loop)
        memory = MemoryBudget(bytesMax: configuration.heldBytesMax)
    }

    deinit { readBuffer.deallocate() }

    /// The connection to close if another one needs its place: one that has sent nothing for some time, else the
    /// longest idle one.
    var mostDispensable: HTTPConnection? {
        let silent = silent.first
        if let silent, loop.now - silent.acceptedAt >= configuration.timeouts.firstRequest { return silent }
        return idle.first ?? silent
    }

    /// Gives borrowed bytes back. Who gets them is told in a job of its own, because that may give bytes back, too.
    func giveBack(_ loan: MemoryBudget.Loan) {
        for claim in memory.giveBack(loan) {
            loop.execute { claim.connection?.claimWasGranted(claim) }
        }
    }

    /// Disconnects the slowest readers if too much waits for clients, after the connections' turns.
    func relieveMemory() {
        guard !isRelievingMemory, memory.slowestReader != nil else { return }
        isRelievingMemory = true
        loop.execute { [weak self] in
            guard let self else { return }
            while let reader = memory.slowestReader { reader.abort() }
            isRelievingMemory = false
        }
    }

    func makeRequestID() -> RequestID {
        .generated(random.next(), random.next())
    }

    /// Keeps the memory of an empty output buffer for the next response.
    func recycle(_ output: consuming [UInt8]) {
        guard output.capacity > spareOutput.capacity, output.capacity <= Self.spareBytesMax else { return }
        spareOutput = output
    }

    func clientAddress(_ head: RequestHead, peer: IPAddress) -> IPAddress {
        if configuration.isTrusted(peer) { return configuration.clientAddress(head, peer: peer) }
        if head.contains(.xForwardedFor) { forwarding?.report(peer, at: loop.now) }
        return peer
    }

    func render(_ problem: Problem, _ requestID: RequestID) -> ServerResponse {
        application.renderProblem(problem, requestID)
    }

    func render(_ problem: Problem, for exchange: Exchange) -> ServerResponse {
        withOwnFields(application.renderProblem(problem, exchange.requestID), for: exchange)
    }

    /// A response that the server makes itself, with the application's fields.
    func withOwnFields(_ response: ServerResponse, for exchange: Exchange) -> ServerResponse {
        guard let ownFields = application.ownFields, let head = exchange.head else { return response }
        var response = response
        for field in ownFields(head) { response.fields[field.name] = field.value }
        return response
    }
}

// MARK: - Observing and logging

extension LoopContext {
    func observe(_ exchange: Exchange, _ outcome: Outcome) {
        let request = FinishedRequest(
            head: exchange.head, routePattern: exchange.endpoint?.pattern, requestID: exchange.requestID,
            clientAddress: exchange.clientAddress, status: outcome.status,
            duration: exchange.head == nil ? .zero : .now - exchange.start,
            requestBodyBytes: outcome.requestBodyByteCount, responseBodyBytes: outcome.responseBodyByteCount,
            isComplete: outcome.isComplete)
        for observer in application.observers { observer.didFinish(request) }
    }

    func report(_ error: ResponseError, of exchange: Exchange) {
        logger.error(
            "response cannot be sent", metadata: ["requestId": "\(exchange.requestID)", "error": "\(error)"])
    }

    func logFailure(_ error: any Error, of exchange: Exchange, hasBegun: Bool) {
        logger.error(
            hasBegun ? "streamed response failed" : "handler failed",
            metadata: [
                "requestId": "\(exchange.requestID)", "route": "\(exchange.endpoint?.pattern ?? "")",
                "error": "\(error)",
            ])
    }
}

/// Random numbers of the system, fetched many at a time: a system call per request id would cost too much. A copy would
/// return the same numbers once more, so there is none.
struct BufferedRandom: ~Copyable {
    /// getentropy(3) returns at most 256 bytes.
    private static let wordsMax = 32

    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if words.isEmpty { refill() }
        return words.removeLast()
    }

    private mutating func refill() {
        words.append(contentsOf: repeatElement(0, count: Self.wordsMax))
        let result = words.withUnsafeMutableBytes { getentropy($0.baseAddress!, $0.count) }
        precondition(result == 0, "getentropy failed")
    }
}

/// The value of `Date`, rendered once a second: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
struct ResponseDate {
    private var second = time_t.min
    private var bytes: [UInt8] = []

    mutating func value() -> [UInt8] {
        let now = time(nil)
        if now != second {
            second = now
            bytes = Self.render(now)
        }
        return bytes
    }

    static func render(_ second: time_t) -> [UInt8] {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var date = Array("\(days[Int(parts.tm_wday)]), ".utf8)
        date.appendDecimal(parts.tm_mday.magnitude, digitsMin: 2)
        date.append(contentsOf: " \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)".utf8)
        for (separator, number) in [(" ", parts.tm_hour), (":", parts.tm_min), (":", parts.tm_sec)] {
            date.append(contentsOf: separator.utf8)
            date.appendDecimal(number.magnitude, digitsMin: 2)
        }
        date.append(contentsOf: " GMT".utf8)
        return date
    }
}
