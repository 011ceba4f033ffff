import HTTPApplication
import PushRegistry

/// `?after=&epoch=&limit=` of a fetch of notifications.
struct NotificationQuery {
    static let limits: ClosedRange<Int> = 1...100
    static let standardLimit = 100

    /// The highest number that the client has seen.
    let after: Int64
    /// Nil means the present epoch.
    let epoch: String?
    let limit: Int

    /// - Throws: `APIError.invalidParameters` with every fault.
    init(_ request: ServerRequest) throws {
        var query = try QueryParameters(request, ["after", "epoch", "limit"])
        after = query.integer("after", in: 0...Int64.max) ?? 0
        epoch = query["epoch"]
        limit = query.integer("limit", in: Self.limits) ?? Self.standardLimit
        try query.check()
    }
}
