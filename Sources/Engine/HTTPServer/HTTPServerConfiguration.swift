import Basics
public import HTTPWire

/// The server's addresses, limits and timeouts.
public struct HTTPServerConfiguration: Sendable {
    /// The addresses to listen at; ignored if there are inherited sockets.
    public var addresses: [ListenAddress]

    /// Sockets that already listen. If there are any, they replace `addresses`.
    public var inheritedSockets: [InheritedSocket] = []

    /// The files of the certificate and its key. Without them the server speaks plain HTTP.
    public var tls: TLSFiles?

    /// The timeouts of a connection.
    public var timeouts = Timeouts()

    /// The limits of a request's head.
    public var wireLimits = WireLimits()

    /// The most connections at once, over all loops. At the limit a new connection replaces one of its loop, or else of
    /// another loop: one that has sent no request for `firstRequest`, else the longest idle one; a request of which
    /// only a part of the head has arrived does not count. If every connection has a request, it waits in the kernel's
    /// queue. An idle connection costs 6 to 8 KB.
    public var connectionsMax = 20_000

    /// The most connections of one IPv4 address or one IPv6 /64; further ones are closed at once. Off by default: many
    /// users of a mobile network share one address.
    public var connectionsPerAddressMax: Int?

    /// Bytes of requests that the connections of one loop may hold together, if their routes have admitted them. A
    /// larger request than `heldBytesFree` waits for its share before it is read, in turn with other networks, and gets
    /// a 503 after `Timeouts.memory`.
    ///
    /// Requests that need no admission share a quarter of this besides, and unsent responses a half: beyond, the
    /// slowest readers are disconnected. No response is refused for want of memory.
    public var heldBytesMax = 64 * 1024 * 1024

    /// The bytes of a request that each connection may hold in any case. Most requests are smaller.
    public var heldBytesFree = 4 * 1024

    /// The average rate at which a client must read its response, measured over each `Timeouts.write`; a slower client
    /// is disconnected. The slowest mobile networks transmit some thousand bytes a second.
    public var readBytesPerSecondMin = 512

    /// Bytes of pipelined requests that are read while a request is handled. Beyond, the connection is not read until
    /// that request has its response, and TCP slows the client down.
    public var pipelinedBytesMax = 64 * 1024

    /// Bytes of responses that wait for a slow client. Beyond, the connection's next request waits, and so does a
    /// streamed response.
    public var outputHighWatermarkBytes = 128 * 1024

    /// An unwanted body (404, 405, 413) up to this size is read and dropped, so that its connection survives. With a
    /// longer one the connection is closed after the response.
    public var droppedBodyBytesMax = 64 * 1024

    /// The reverse proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies: [AddressRange] = []

    /// All other settings have their defaults. `addresses` may be empty if `inheritedSockets` will not be.
    public init(addresses: [ListenAddress]) {
        self.addresses = addresses
    }
}

extension HTTPServerConfiguration {
    /// Timeouts of a connection. A connection that exceeds one is closed, after a response if one is due.
    public struct Timeouts: Sendable {
        /// From accepting to the end of the TLS handshake.
        public var handshake: Duration = .seconds(10)
        /// From a head's first byte, or from when there was memory for the rest, to its last (408). It stops slow-loris
        /// clients.
        public var head: Duration = .seconds(10)
        /// From the end of the head, or from when there was memory for it, to the end of the body (408).
        public var body: Duration = .seconds(30)
        /// From the end of the request to the head of its response (503); the handler is cancelled. Also the longest
        /// pause of a streamed response, after which the connection is reset.
        public var handler: Duration = .seconds(30)
        /// The interval over which a client's reading rate is measured, see `readBytesPerSecondMin`.
        public var write: Duration = .seconds(30)
        /// How long a request may wait for memory before it is read (503).
        public var memory: Duration = .seconds(30)
        /// Between requests, and before the first. Longer than the 60 s that load balancers keep a connection, so that
        /// they close first and never send a request into a closing one.
        public var idle: Duration = .seconds(75)
        /// How long a new connection is spared when another one needs its place. After that, those without a request go
        /// before idle ones.
        public var firstRequest: Duration = .seconds(1)
        /// How long a handler may run after its client has stopped sending: the client may have closed only its half
        /// and still want the response. A reset cancels the handler at once.
        public var halfClosed: Duration = .seconds(1)
        /// How long the rest of a request is read and dropped after a response that ends the connection. Closing with
        /// unread bytes would send RST, which can destroy the response in flight.
        public var linger: Duration = .seconds(5)
        /// From the call of `drain` to the end of the last connection; requests still in flight are then cut. The
        /// server still waits for handlers that ignore the cancellation of their tasks.
        public var drain: Duration = .seconds(30)
        /// While draining, how long an idle connection may still send a request that is already on its way.
        public var idleDrain: Duration = .milliseconds(250)

        /// Every timeout has its default.
        public init() {}
    }
}

/// The limits and timeouts of a connection: the part of the configuration that `ConnectionState` needs. All connections
/// of a loop share one.
final class ConnectionRules: Sendable {
    let wire: WireLimits
    let timeouts: HTTPServerConfiguration.Timeouts
    let pipelinedBytesMax: Int
    let outputHighWatermarkBytes: Int
    let droppedBodyBytesMax: Int
    let heldBytesFree: Int
    let readBytesPerSecondMin: Int

    init(_ configuration: HTTPServerConfiguration) {
        wire = configuration.wireLimits
        timeouts = configuration.timeouts
        pipelinedBytesMax = configuration.pipelinedBytesMax
        outputHighWatermarkBytes = configuration.outputHighWatermarkBytes
        droppedBodyBytesMax = configuration.droppedBodyBytesMax
        heldBytesFree = configuration.heldBytesFree
        readBytesPerSecondMin = configuration.readBytesPerSecondMin
    }
}
