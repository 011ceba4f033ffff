import HTTPWire

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
