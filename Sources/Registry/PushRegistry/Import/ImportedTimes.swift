/// The times of an installation, where they were not read from the texts of a line.
public struct ImportedTimes: Hashable, Sendable {
    public var createdAt: Timestamp?
    public var lastSeenAt: Timestamp?

    public init(createdAt: Timestamp?, lastSeenAt: Timestamp?) {
        self.createdAt = createdAt
        self.lastSeenAt = lastSeenAt
    }
}
