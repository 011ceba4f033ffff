import HTTPTypes
import HTTPWire
import Logging

// Answers that are sent while they are produced.
extension HTTPConnection {
    /// Pieces are collected up to here before they leave as one chunk.
    static let streamChunkBytes = 16 * 1024

    /// Sends an answer of unknown length while it is produced.
    func stream(
        _ response: ServerResponse, _ produce: (ResponseBodyWriter) async throws -> Void, _ number: UInt64
    ) async {
        guard let isKeepAlive = beginStream(response) else { return }
        do {
            if exchange?.head.method != .head {
                try await produce(makeWriter(number))
            }
            try await flushStream(number)
        } catch {
            if isCurrent(number) { streamFailed(error) }
            return
        }
        guard isCurrent(number) else { return }
        exchange?.stream?.encodeEnd(into: &output)
        endExchange(isComplete: true)
        phase = isKeepAlive && !context.isDraining ? .receiving : .finishing
    }

    private func makeWriter(_ number: UInt64) -> ResponseBodyWriter {
        ResponseBodyWriter(
            write: { try await self.writeStream($0, number) }, flush: { try await self.flushStream(number) })
    }

    /// - Returns: whether the connection may live on, nil if the head cannot be sent.
    private func beginStream(_ response: ServerResponse) -> Bool? {
        guard let exchange else { return nil }
        var encoder = makeEncoder(exchange)
        var fields = response.fields
        fields[.xRequestID] = exchange.requestID.description
        takeOutputBuffer()
        do {
            self.exchange?.stream = try encoder.encodeStream(
                response.status, fields, date: context.date.value(), into: &output)
            self.exchange?.status = response.status
            return encoder.isKeepAlive
        } catch {
            context.logger.error("answer cannot be sent", metadata: ["error": "\(error)"])
            refuse(.internalError)
            return nil
        }
    }

    /// A missing end tells the client that the answer is not complete.
    private func streamFailed(_ error: any Error) {
        context.logger.error(
            "streamed answer failed",
            metadata: ["requestId": "\(exchange?.requestID.description ?? "")", "error": "\(error)"])
        close(reset: true)
    }

    func writeStream(_ bytes: [UInt8], _ number: UInt64) async throws {
        guard isCurrent(number) else { throw ConnectionClosed() }
        exchange?.responseBodyBytes += bytes.count
        if streamed.isEmpty, bytes.count >= Self.streamChunkBytes {
            send(chunk: bytes.span)
            return try await waitForReader(number)
        }
        streamed.append(contentsOf: bytes)
        if streamed.count >= Self.streamChunkBytes { try await flushStream(number) }
    }

    func flushStream(_ number: UInt64) async throws {
        guard isCurrent(number) else { throw ConnectionClosed() }
        send(chunk: streamed.span)
        streamed.removeAll(keepingCapacity: true)
        try await waitForReader(number)
    }

    private func send(chunk: Span<UInt8>) {
        takeOutputBuffer()
        exchange?.stream?.encode(chunk, into: &output)
        flush()
        settle()
    }

    private func waitForReader(_ number: UInt64) async throws {
        // A producer that never waits would keep the loop for itself.
        guard mustWaitForReader(number) else { return await Task.yield() }
        // Asked again: on its way here a task may have let others run, the last bytes' sending among them.
        await withCheckedContinuation { continuation in
            if mustWaitForReader(number) { streamWaiter = continuation } else { continuation.resume() }
        }
        guard isCurrent(number) else { throw ConnectionClosed() }
    }

    private func mustWaitForReader(_ number: UInt64) -> Bool {
        isCurrent(number) && unsentByteCount >= context.configuration.unsentBytesMax
    }

    func wakeStream() {
        streamWaiter?.resume()
        streamWaiter = nil
    }
}
