// From answers to the socket.
extension HTTPConnection {
    var unsentByteCount: Int { output.count - outputStart }

    var hasOutput: Bool { unsentByteCount > 0 || transport.hasUnsentBytes }

    func takeOutputBuffer() {
        if output.capacity == 0 { output = context.takeOutput() }
    }

    /// Sends as much as the socket takes.
    func flush() {
        guard phase != .closed, hasOutput else { return }
        let sent = output.withUnsafeBytes { transport.write(UnsafeRawBufferPointer(rebasing: $0[outputStart...])) }
        guard let sent else { return close(reset: false) }
        outputStart += sent
        if hasOutput {
            if sent > 0 { restartWriteDeadline() }
            forgetSent()
        } else {
            releaseOutput()
        }
        if unsentByteCount <= context.configuration.unsentBytesMax / 2 { wakeStream() }
    }

    /// A reader who always lags a little would have the whole of a long answer pile up. Moving the rest costs no more
    /// than the sending did.
    private func forgetSent() {
        guard outputStart >= unsentByteCount else { return }
        output.removeFirst(outputStart)
        outputStart = 0
    }

    private func releaseOutput() {
        var spent: [UInt8] = []
        swap(&spent, &output)
        outputStart = 0
        context.giveBack(spent)
    }

    /// The last answer is sent. Closing now could destroy it on its way, if the client has sent something that was not
    /// read (RFC 9112 section 9.6).
    func linger() {
        phase = .lingering
        transport.finishWriting()
        guard !inputHasEnded else { return close(reset: false) }
        settle()
    }
}
