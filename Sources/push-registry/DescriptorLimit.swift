import Glibc

/// The open files that the process may have: getrlimit(2), `RLIMIT_NOFILE`.
enum DescriptorLimit {
    /// Descriptors that are no client's: the database's and its reconnections, listeners, event loops, the log, the
    /// certificate's and `/proc`'s files while they are read.
    static let reserve = 128

    /// Raises the soft limit to the hard one.
    ///
    /// - Returns: the limit that holds then.
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

    /// The connections of clients for which there are descriptors.
    ///
    /// - Parameters:
    ///   - limit: of all descriptors.
    ///   - inUse: by whatever is no client, for each of the event loops.
    static func connectionsMax(limit: Int, eventLoops: Int, perLoop inUse: Int) -> Int {
        max(1, limit - reserve - eventLoops * inUse)
    }
}
