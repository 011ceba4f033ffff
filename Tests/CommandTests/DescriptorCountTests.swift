import HTTPServer
import Logging
import Synchronization
import Testing

@testable import push_registry

@Suite("Client connections leave descriptors for everything else")
struct DescriptorCountTests {
    /// 4 loops with 20 descriptors each, and the reserve.
    private static let inUse = 4 * 20 + DescriptorLimit.reserve

    /// - Returns: the number of connections in force, and the lines that were logged.
    private func connections(configured: Int, limit: Int) -> (max: Int, log: [String]) {
        let log = RecordedLog()
        var configuration = HTTPServerConfiguration(addresses: [])
        configuration.connectionsMax = configured
        DescriptorLimit.apply(
            limit, to: &configuration, eventLoops: 4, perLoop: 20, Logger(label: "test") { _ in log })
        return (configuration.connectionsMax, log.lines)
    }

    @Test(arguments: [1_000 + Self.inUse, 1_001 + Self.inUse, .max])
    func configuredNumberApplies_whenThereAreEnoughDescriptors(limit: Int) {
        let connections = connections(configured: 1_000, limit: limit)
        #expect(connections.max == 1_000 && connections.log.isEmpty)
    }

    @Test func numberIsLowered_andTheLogHasBothNumbers_whenThereAreFewerDescriptors() {
        let connections = connections(configured: 1_000, limit: 999 + Self.inUse)
        #expect(connections.max == 999)
        #expect(
            connections.log == [
                "warning fewer connections than configured: raise the limit of open files (LimitNOFILE, ulimit -n) "
                    + "configured=1000 connectionsMax=999 descriptors=\(999 + Self.inUse)"
            ])
    }

    /// Nobody asked for the default, and most of it is there.
    @Test func lineIsNoWarning_whenMostOfTheDefaultIsServed() {
        #expect(connections(configured: 20_000, limit: 19_999).log.map { $0.prefix(5) } == ["info "])
        #expect(connections(configured: 20_000, limit: 9_999).log.map { $0.prefix(5) } == ["warni"])
        #expect(connections(configured: 30_000, limit: 29_999).log.map { $0.prefix(5) } == ["warni"])
    }

    @Test(arguments: [0, Self.inUse, 1 + Self.inUse])
    func oneConnectionRemains_whenThereAreTooFewDescriptors(limit: Int) {
        #expect(connections(configured: 1_000, limit: limit).max == 1)
    }
}

/// Keeps `level message key=value`.
private final class RecordedLog: LogHandler {
    private let recorded = Mutex<[String]>([])

    var lines: [String] { recorded.withLock(\.self) }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        recorded.withLock { $0.append("\(event.level) \(event.message)\(fields.joined())") }
    }
}
