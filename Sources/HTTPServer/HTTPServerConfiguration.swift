public import HTTPWire

/// Where the server listens and what it lets a client take: every wait has a deadline, every size a limit.
public struct HTTPServerConfiguration: Sendable {
    /// Where to listen, unless there are inherited sockets.
    public var addresses: [ListenAddress]

    /// Sockets that listen already: they are served instead of `addresses`.
    public var inheritedSockets: [InheritedSocket] = []

    /// Where the certificate and its key are; without them HTTP is spoken in the clear.
    public var tls: TLSFiles?

    /// The deadlines of a connection, as it goes through a request.
    public var deadlines = Deadlines()

    /// The limits of a request's head.
    public var wireLimits = WireLimits()

    /// The most connections at once, over all loops. At this many the longest idle one makes room for the next; if none
    /// is idle, the next waits in the kernel's queue. An idle one costs 6 to 8 KB.
    public var connectionsMax = 20_000

    /// The most connections of one IPv4 address, or of one IPv6 network of 64 bits; more are closed at once. Off by
    /// default: many users of a mobile network share one address.
    public var connectionsPerAddressMax: Int?

    /// Bytes of requests and responses that the connections of one loop may hold together. Beyond, a connection that
    /// holds `heldBytesFree` is not read on, and gets a 503 if that lasts for `Deadlines.memory`.
    public var heldBytesMax = 64 * 1024 * 1024

    /// What a connection may hold even then: most requests are smaller.
    public var heldBytesFree = 4 * 1024

    /// What a client that has something to read must take on average in each `Deadlines.write`, or it is cut off: the
    /// slowest mobile networks carry some thousand bytes a second.
    public var readBytesPerSecondMin = 512

    /// Bytes of a connection taken ahead of the request in work. Beyond, it is not read until that request is
    /// answered, and TCP makes the client wait.
    public var unreadBytesMax = 64 * 1024

    /// Bytes of responses waiting for a slow reader. Beyond, no further request of the connection is begun and
    /// a streamed response waits.
    public var unsentBytesMax = 128 * 1024

    /// A body that nobody wants (404, 405, 413) is read and dropped up to this size, so that its connection lives on;
    /// with a longer one the connection is closed after the response.
    public var droppedBodyBytesMax = 64 * 1024

    /// The reverse proxies whose `X-Forwarded-For` is believed; nobody else's is.
    public var trustedProxies: [AddressRange] = []

    public init(addresses: [ListenAddress]) {
        self.addresses = addresses
    }
}

extension HTTPServerConfiguration {
    /// Timeouts of a connection. One that misses any is closed, with a response where one is due.
    public struct Deadlines: Sendable {
        /// From accepting to the end of the TLS handshake.
        public var handshake: Duration = .seconds(10)
        /// From a head's first byte to its last (408): slow loris.
        public var head: Duration = .seconds(10)
        /// From the end of the head to the end of the body (408).
        public var body: Duration = .seconds(30)
        /// From the end of the request to the head of its response (503); the handler is cancelled. A streamed
        /// response may then pause for as long at most, else the connection is reset.
        public var handler: Duration = .seconds(30)
        /// Between two looks at how much a client took of the bytes that wait for it, see `readBytesPerSecondMin`.
        public var write: Duration = .seconds(30)
        /// While the loop holds `heldBytesMax`, what a request that may not be read on has left (503).
        public var memory: Duration = .seconds(2)
        /// Between requests, and before the first. Longer than the 60 s that load balancers keep a connection, so that
        /// they close first and never send a request into a closing one.
        public var idle: Duration = .seconds(75)
        /// How long a handler may go on after its client stopped sending: it may only have half-closed and still
        /// want its response. A reset cancels at once.
        public var halfClosed: Duration = .seconds(1)
        /// How long an unread rest of a request is read and dropped after the response that ends the connection:
        /// closing with unread bytes would send RST, which can destroy the response under way.
        public var linger: Duration = .seconds(5)
        /// From the call to stop to the last connection's end; what is in flight is then cut.
        public var drain: Duration = .seconds(30)
        /// While draining, what an idle connection has left to send a request that is already on its way.
        public var idleDrain: Duration = .milliseconds(250)

        public init() {}
    }
}
