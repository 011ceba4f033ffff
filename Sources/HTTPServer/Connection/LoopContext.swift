import EventLoop
import Logging
import SeededRandom

/// What the connections of one loop share. Belongs to its loop and is used there only.
final class LoopContext: @unchecked Sendable {
    /// Bytes taken from a socket at once.
    static let readBytesMax = 64 * 1024
    /// The largest output buffer kept for the next answer.
    static let spareBytesMax = 64 * 1024

    let loop: EventLoop
    let configuration: HTTPServerConfiguration
    let application: Application
    let logger: Logger
    /// Set once, when the server is told to stop: from then on every answer is its connection's last.
    var isDraining = false

    let readBuffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readBytesMax, alignment: 16)
    var date = ResponseDate()
    private var spareOutput: [UInt8] = []
    // The system's generator would cost a system call each.
    private var random = SeededGenerator(seed: .random(in: 0...UInt64.max))

    init(loop: EventLoop, configuration: HTTPServerConfiguration, application: Application, logger: Logger) {
        self.loop = loop
        self.configuration = configuration
        self.application = application
        self.logger = logger
    }

    deinit { readBuffer.deallocate() }

    func makeRequestID() -> RequestID {
        .made(random.next(), random.next())
    }
}

// One output buffer goes from connection to connection: an idle one has none, and an answer allocates none.
extension LoopContext {
    func takeOutput() -> [UInt8] {
        var output: [UInt8] = []
        swap(&output, &spareOutput)
        return output
    }

    func giveBack(_ output: consuming [UInt8]) {
        guard output.capacity > spareOutput.capacity, output.capacity <= Self.spareBytesMax else { return }
        output.removeAll(keepingCapacity: true)
        spareOutput = output
    }
}
