import Logging

extension LogEvent {
    /// All metadata of the event, sorted by key. The event's own takes precedence over the provider's, and the
    /// provider's over the logger's. The event's error is added under `error`.
    func fields(_ handler: some LogHandler) -> [(key: String, value: Logger.MetadataValue)] {
        var all = handler.metadata
        if let provider = handler.metadataProvider { all.merge(provider.get()) { $1 } }
        if let error { all["error"] = "\(error)" }
        // Usually there is only the event's own metadata; merging would hash every key again.
        if all.isEmpty { all = metadata ?? [:] } else if let metadata { all.merge(metadata) { $1 } }
        return all.sorted { $0.key < $1.key }
    }
}
