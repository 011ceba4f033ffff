import Foundation

/// What outlives the process, apart from queued logouts. It contains no credential of a user, so that it may be read
/// before the first unlock.
struct SavedState: Sendable, Hashable, Codable {
    typealias Topics = [String: Bool?]

    enum Account: String, Sendable, Codable {
        case anonymous, user, signedOut, signedOutElsewhere
    }

    /// The last registration that the registry acknowledged.
    struct Registration: Sendable, Hashable, Codable {
        var digest: UInt64
        /// Nil if it was anonymous.
        var owner: UInt64?
        var at: Date
        var until: Date
    }

    /// A registration whose outcome is not known: it may have been applied.
    struct Attempt: Sendable, Hashable, Codable {
        var digest: UInt64
        var owner: UInt64?
    }

    /// What fetches notifications without a user's credential.
    struct Delivery: Sendable, Hashable, Codable {
        var key: String?
        var epoch: String?
    }

    static let name = "state"

    var installID: String
    var fingerprint: String?
    var account = Account.anonymous
    var registration: Registration?
    var attempt: Attempt?
    var eTag: String?
    var delivery: Delivery?
    /// The user's choices that are not acknowledged.
    var topics: Topics = [:]
    /// Choices made without a user. The first owner's registration repeats them, because it resets the installation's.
    var anonymousTopics: Topics = [:]

    init(installID: String) {
        self.installID = installID
    }
}

/// A logout that the registry has not acknowledged.
struct QueuedLogout: Sendable, Hashable, Codable {
    static let name = "logouts"
    /// The registry accepts an expired JWT for a logout for that long.
    static let lifetime: TimeInterval = 30 * 86_400
    /// A phone that is offline while users take turns has more: the oldest one is dropped.
    static let countMax = 16

    var id = UUID()
    var at: Date
    /// The JWT of the user who logs out. Nil: the publishable key. For an owner, that needs `eTag` as a proof.
    var credential: String?
    var eTag: String?
    /// The outcome of a registration is unknown, so the generation may be a later one.
    var isUncertain: Bool
    var keepAnonymous: Bool

    /// A JWT needs no generation, so an uncertain one is left out.
    var ifMatch: String? { isUncertain && credential != nil ? nil : eTag }
}
