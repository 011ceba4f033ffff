import EventLoop
import Glibc

/// One keep-alive connection with at most one request in flight. Used on its loop only.
final class LoadConnection: ReadinessHandler, @unchecked Sendable {
    private let channel: any LoadChannel
    private unowned let load: HTTPLoad
    private var watch: Watch?
    private var sentAt = 0
    /// The first part of an incomplete response.
    private var partial: [UInt8] = []

    init(_ channel: any LoadChannel, _ load: HTTPLoad) {
        self.channel = channel
        self.load = load
    }

    func start() {
        watch = load.loop.watch(channel.descriptor, for: .readable, handler: self)
        sendNext()
    }

    func stop() {
        guard let watch else { return }
        self.watch = nil
        load.loop.unwatch(watch)
        channel.close()
    }

    private func sendNext() {
        guard let range = load.nextRequest() else { return load.finish(self) }
        sentAt = Monotonic.microseconds
        let sent = load.requestBytes.withUnsafeBytes { channel.send(.init(rebasing: $0[range])) }
        // One small request always fits into the socket's buffer.
        if sent != range.count { load.fail(self) }
    }

    func descriptorIsReady(_ readiness: Readiness) {
        repeat {
            let received = channel.receive(into: load.buffer)
            guard received > 0 else {
                if received == 0 || errno != EAGAIN { load.fail(self) }
                return
            }
            receive(UnsafeRawBufferPointer(rebasing: load.buffer[..<received]))
        } while watch != nil && channel.hasUnreadBytes
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard partial.isEmpty else { return receivePart(bytes) }
        guard let response = ResponseScanner.scan(bytes) else { return partial.append(contentsOf: bytes) }
        finish(response)
    }

    private func receivePart(_ bytes: UnsafeRawBufferPointer) {
        partial.append(contentsOf: bytes)
        guard let response = partial.withUnsafeBytes({ ResponseScanner.scan($0) }) else { return }
        partial.removeAll(keepingCapacity: true)
        finish(response)
    }

    private func finish(_ response: ResponseScanner.Response) {
        load.add(response, microseconds: Monotonic.microseconds - sentAt)
        sendNext()
    }
}

/// A clock that is never adjusted.
enum Monotonic {
    static var microseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }
}
