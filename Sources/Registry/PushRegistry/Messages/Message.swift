/// A campaign, or one transactional push.
public struct Message: Hashable, Sendable {
    public let number: MessageNumber
    public let name: MessageName
    public let content: MessageContent
    public let createdAt: Timestamp
    /// The segments in the filters of this message's exports and lists, at most `segmentsMax`, in alphabetical order.
    public let segments: [SegmentName]
    public static let segmentsMax = 100

    public init(
        number: MessageNumber, name: MessageName, content: MessageContent, createdAt: Timestamp,
        segments: [SegmentName] = []
    ) {
        self.number = number
        self.name = name
        self.content = content
        self.createdAt = createdAt
        self.segments = segments
    }

    /// From then on no receipt is issued, and none counts.
    public var expiresAt: Timestamp { createdAt.advanced(by: content.expiresIn) }

    public func isExpired(at time: Timestamp) -> Bool { time >= expiresAt }
}

/// The members of a message that a caller sets.
public struct MessageContent: Hashable, Sendable {
    public static let labelsMax = 32
    public static let labelScalarsMax = 128
    public static let standardExpiry = ISO8601Duration.days(7)

    public let title: String?
    /// The labels, in the order of the request.
    public let labels: [Label]
    public let expiresIn: ISO8601Duration
    /// Whether the registry stores the installations for which the message is handed out.
    public let isRecorded: Bool

    public struct Label: Hashable, Sendable {
        public let name: String
        public let value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    public init(
        title: String? = nil, labels: [Label] = [], expiresIn: ISO8601Duration = standardExpiry,
        isRecorded: Bool = false
    ) {
        self.title = title
        self.labels = labels
        self.expiresIn = expiresIn
        self.isRecorded = isRecorded
    }
}
