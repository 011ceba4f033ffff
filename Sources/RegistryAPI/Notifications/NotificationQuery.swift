import HTTPServer
import HTTPWire
import PushRegistry

/// `?after=&epoch=&limit=` of a fetch of notifications.
struct NotificationQuery {
    static let limits: ClosedRange<Int> = 1...100
    static let standardLimit = 100
    private static let names = ["after", "epoch", "limit"]

    /// The highest number that the client has seen.
    private(set) var after: Int64 = 0
    /// Nil means the present epoch.
    private(set) var epoch: String?
    private(set) var limit = standardLimit

    /// - Throws: `APIError.invalidParameters`. An unknown parameter is a fault.
    init(_ request: ServerRequest) throws {
        var faults: [ParameterFault] = []
        for item in try request.head.queryItems() {
            switch item.name {
            case "after":
                if let number = Int64(item.value), number >= 0 {
                    after = number
                } else {
                    faults.append(.query("after", "out-of-range", "This must be 0 or a positive number."))
                }
            case "epoch": epoch = item.value
            case "limit":
                if let number = Int(item.value), Self.limits.contains(number) {
                    limit = number
                } else {
                    faults.append(.query("limit", "out-of-range", "This must be a number from 1 to 100."))
                }
            default:
                let hint = NearestName.hint(for: item.name, among: Self.names)
                faults.append(.query(item.name, "unknown-parameter", "No parameter has this name. " + hint))
            }
        }
        guard faults.isEmpty else { throw APIError.invalidParameters(faults) }
    }
}
