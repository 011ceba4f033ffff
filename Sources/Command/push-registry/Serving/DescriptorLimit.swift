import Glibc
import HTTPServer
import Logging

/// The limit of open files of the process: getrlimit(2), `RLIMIT_NOFILE`.
enum DescriptorLimit {
    /// Descriptors for other purposes than client connections, in addition to those of the event loops: gauges, log,
    /// certificate files, `/proc`.
    static let reserve = 128

    /// Raises the soft limit to the hard limit.
    ///
    /// - Returns: the limit in force afterwards.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// Lowers the configured number of client connections to the number for which there are descriptors, and logs it: a
    /// warning if the operator asked for more than the default. Clients must leave some for PostgreSQL.
    ///
    /// - Parameters:
    ///   - limit: the limit of all descriptors.
    ///   - inUse: the descriptors of each event loop that are not client connections.
    static func apply(
        _ limit: Int, to configuration: inout HTTPServerConfiguration, eventLoops: Int, perLoop inUse: Int,
        _ logger: Logger
    ) {
        let most = connectionsMax(limit: limit, eventLoops: eventLoops, perLoop: inUse)
        guard most < configuration.connectionsMax else { return }
        let standard = HTTPServerConfiguration(addresses: []).connectionsMax
        logger.log(
            level: configuration.connectionsMax > standard || most < standard / 2 ? .warning : .info,
            "fewer connections than configured: raise the limit of open files (LimitNOFILE, ulimit -n)",
            metadata: [
                "connectionsMax": .stringConvertible(most),
                "configured": .stringConvertible(configuration.connectionsMax),
                "descriptors": .stringConvertible(limit),
            ])
        configuration.connectionsMax = most
    }

    /// The number of client connections for which there are descriptors.
    ///
    /// - Parameters:
    ///   - limit: the limit of all descriptors.
    ///   - inUse: the descriptors of each event loop that are not client connections.
    static func connectionsMax(limit: Int, eventLoops: Int, perLoop inUse: Int) -> Int {
        max(1, limit - reserve - eventLoops * inUse)
    }
}
