import Logging

extension LogEvent {
    /// All metadata of the event, sorted by key: its own wins over the provider's, and that over the logger's. An error
    /// counts as metadata `error`.
    func fields(_ handler: some LogHandler) -> [(key: String, value: Logger.MetadataValue)] {
        var all = handler.metadata
        if let provider = handler.metadataProvider { all.merge(provider.get()) { $1 } }
        if let error { all["error"] = "\(error)" }
        // Mostly the event's own are all there are: merging them would hash every key once more.
        if all.isEmpty { all = metadata ?? [:] } else if let metadata { all.merge(metadata) { $1 } }
        return all.sorted { $0.key < $1.key }
    }
}
