import HTTPWire

extension ConnectionState {
    /// An action that the driver must perform.
    enum Action {
        /// Read at most `bytesMax` bytes from the transport once, and report the result: `received`, `readWouldBlock`,
        /// `inputEnded` or `transportFailed`.
        case read(bytesMax: Int)
        /// Send `output`, as much as the transport accepts, and report it: `sent` or `transportFailed`.
        case send
        /// Find the route of the request, and report it: `begin`.
        case route(RequestHead)
        /// Let the route check the head, and report `admitted`, or `respond` with the refusal.
        case admit(Exchange)
        /// Run the handler, and report `respond`, or `beginStream` and what follows.
        case run(Exchange)
        /// Render the problem as the connection's last response, and report `respondLast`.
        indirect case refuse(Problem, Exchange?)
        /// Cancel the handler: its response is not needed any more.
        case cancel(Exchange)
        /// The exchange is over: notify the observer.
        case finished(Exchange)
        /// The producer of the stream waits and may continue.
        case resumeStream
        /// The handler's response could not be encoded; a 500 was sent in its place.
        indirect case reportUnsendable(Exchange, ResponseError)
        /// Inform the peer that nothing more follows.
        case finishWriting
        /// Close the descriptor; `reset` tells the peer that the response is incomplete.
        case close(reset: Bool)
    }
}
