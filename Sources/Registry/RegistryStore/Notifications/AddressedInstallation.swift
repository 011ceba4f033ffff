import PostgresClient
import PushRegistry

/// An installation that a post addresses, read without a lock.
struct AddressedInstallation: Sendable {
    let installID: InstallID
    let provider: Provider
    /// Nil if the installation holds no token.
    let token: Token?
    let keys: WebPushKeys?
    let generation: Int64
    let epoch: Int64
    let isReachable: Bool
    let userID: UserID?
    let cell: Int64
    private let topics: TopicChoices

    /// - Parameter row: of `NotificationStatements.ofInstallations` or `.ofUsers`, after the column of the addressee.
    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row, from: 1)
        installID = try InstallID(reader.next())
        let provider: Provider = try reader.nextLabel()
        self.provider = provider
        token = try reader.next(String?.self).map { try Token($0, of: provider) }
        keys = try reader.nextKeys()
        (generation, epoch) = (try reader.next(), try reader.next())
        let reachability = Reachability(
            state: try reader.nextLabel(), sessionExpiresAt: try reader.next(),
            settings: PackedSettings.decode(try reader.next()), provider: provider)
        isReachable = reachability.obstacles(at: try reader.next()).isEmpty
        userID = try reader.next(String?.self).map { try UserID($0) }
        cell = try reader.next()
        topics = try reader.nextChoices()
    }

    /// Nil if a push would not reach the installation, or if it is not subscribed to the topic.
    func target(about topic: Topic?) -> NotificationTarget? {
        guard isReachable, let token, topic.map({ $0.isSubscribed(by: topics[$0.number]) }) ?? true else { return nil }
        return NotificationTarget(
            installID: installID, token: token, keys: keys, epoch: epoch, userID: userID, cell: cell)
    }
}

/// The installations that a batch of posts addresses.
struct Addressees: Sendable {
    private var installations: [InstallID: AddressedInstallation] = [:]
    private var ofUsers: [UserID: [AddressedInstallation]] = [:]

    /// Reads one installation more than a call may have: the extra row shows that a user has too many.
    static func statements(of posts: [NotificationPost], in app: AppNumber) -> [PostgresStatement] {
        var (ids, users) = (Set<String>(), Set<String>())
        for post in posts {
            switch post.addressee {
            case .installation(let id, _): ids.insert(id.rawValue)
            case .users(let named): users.formUnion(named.map(\.rawValue))
            }
        }
        return [
            NotificationStatements.ofInstallations(app.rawValue, ids.sorted()),
            NotificationStatements.ofUsers(app.rawValue, users.sorted(), Int64(NotificationPost.installationsMax) + 1),
        ]
    }

    /// - Parameter results: of `statements`.
    init(_ results: [PostgresResult]) throws {
        for row in results[0] {
            let found = try AddressedInstallation(row)
            installations[found.installID] = found
        }
        for row in results[1] {
            ofUsers[try UserID(row.decode(0)), default: []].append(try AddressedInstallation(row))
        }
    }

    /// The reachable installations, in the order of the users; those of a user in the order of their ids.
    func targets(of post: NotificationPost) throws(NotificationRefusal) -> [NotificationTarget] {
        switch post.addressee {
        case .installation(let id, let generation):
            guard let found = installations[id] else { throw .unknownInstallation }
            let isMeant = generation.map { $0 == found.generation } ?? true
            return isMeant ? [found.target(about: post.topic)].compactMap(\.self) : []
        case .users(let users):
            let found = users.flatMap { ofUsers[$0] ?? [] }
            guard found.count <= NotificationPost.installationsMax else { throw .tooManyInstallations }
            return found.compactMap { $0.target(about: post.topic) }
        }
    }
}
