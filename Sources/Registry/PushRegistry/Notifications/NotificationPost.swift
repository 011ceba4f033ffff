import Basics

/// A notification to store, `POST …/notifications` (fine print 60, 80, 81, 84, 102).
public struct NotificationPost: Sendable {
    /// The installations for which it is stored, if they are reachable.
    public enum Addressee: Hashable, Sendable {
        /// One installation. If `ifAt` is not its current generation, it is left out: its owner may have changed after
        /// the sender read it.
        case installation(InstallID, ifAt: Int64?)
        /// All installations of these users. Each user occurs once.
        case users([UserID])
    }

    public let app: AppNumber
    public let addressee: Addressee
    /// The sender's JSON, byte for byte.
    public let payload: String
    public let timeToLive: ISO8601Duration
    public let collapseID: ExactText?
    public let dedupID: ExactText?
    /// Installations that are not subscribed to this topic are left out.
    public let topic: Topic?
    /// The message to which the notification belongs: it counts the installations as targeted.
    public let message: SealedMessage?
    /// How many notifications may wait for one installation.
    public let waitingMax: Int

    public init(
        to addressee: Addressee, of app: App, payload: String, timeToLive: ISO8601Duration = standardTimeToLive,
        collapseID: String? = nil, dedupID: String? = nil, topic: Topic? = nil, message: SealedMessage? = nil
    ) {
        self.app = app.number
        (self.addressee, self.payload, self.timeToLive) = (addressee, payload, timeToLive)
        (self.collapseID, self.dedupID) = (collapseID.map { ExactText($0) }, dedupID.map { ExactText($0) })
        (self.topic, self.message) = (topic, message)
        waitingMax = app.policy.notificationsMax
    }

    /// The largest payload of a push of APNs.
    public static let payloadBytesMax = 4_096
    /// The most users of one call.
    public static let usersMax = 100
    /// The most installations of one call: a user may have many, such as the user of kiosks.
    public static let installationsMax = 10_000
    /// The most Unicode scalars of a collapse id or a dedup id.
    public static let nameScalarsMax = 64
    public static let standardTimeToLive = ISO8601Duration.days(3)
    /// The longest time that FCM keeps a push.
    public static let timeToLiveMax = ISO8601Duration.days(28)
}

/// A message with the sealer of its receipts.
public struct SealedMessage: Sendable {
    public let message: Message
    public let sealer: any ReceiptSealing

    public init(_ message: Message, sealer: any ReceiptSealing) {
        (self.message, self.sealer) = (message, sealer)
    }
}

/// Seals the receipts of one message.
public protocol ReceiptSealing: Sendable {
    /// A new receipt of an installation that is counted in this cell.
    ///
    /// - Throws: `StoreError.failed`.
    func seal(_ installID: InstallID, in cell: Int64) throws(StoreError) -> String

    func hash(_ installID: InstallID) -> InstallationHash
}

/// A notification that was stored for one installation, with the values that the push needs.
public struct PostedNotification: Sendable {
    public let target: NotificationTarget
    public let issued: IssuedNumber
    /// How many notifications wait for the installation, this one counted.
    public let badge: Int

    public init(target: NotificationTarget, issued: IssuedNumber, badge: Int) {
        (self.target, self.issued, self.badge) = (target, issued, badge)
    }
}

/// An installation for which a post is stored, as it was at the time of the post.
public struct NotificationTarget: Sendable {
    public let installID: InstallID
    public let token: Token
    public let keys: WebPushKeys?
    public let epoch: Int64
    public let userID: UserID?
    /// The cell of the roll-up that counts it.
    public let cell: Int64

    public init(
        installID: InstallID, token: Token, keys: WebPushKeys?, epoch: Int64, userID: UserID?, cell: Int64
    ) {
        (self.installID, self.token, self.keys, self.epoch) = (installID, token, keys, epoch)
        (self.userID, self.cell) = (userID, cell)
    }
}

/// The number of a notification.
public struct IssuedNumber: Hashable, Sendable {
    public let number: Int64
    /// The highest lower number that still waits; 0 without one. A client that has not seen it fetches.
    public let previous: Int64
    /// The receipt to put into the push, if the notification belongs to a message.
    public let receipt: String?

    public init(number: Int64, previous: Int64, receipt: String? = nil) {
        (self.number, self.previous, self.receipt) = (number, previous, receipt)
    }
}

/// Why a notification was not stored. Nothing was changed.
public enum NotificationRefusal: Error, Hashable, Sendable {
    case unknownInstallation
    /// The addressee has more than `NotificationPost.installationsMax` installations.
    case tooManyInstallations
}
