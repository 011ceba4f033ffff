import Foundation
import PushRegistryClient

extension InMemoryRegistry {
    struct Owner: Hashable {
        var user: String
        var session: String?
    }

    struct Installation {
        enum State: String { case active, loggedOut, superseded }

        var state = State.active
        var token: String?
        var provider: String
        var owner: Owner?
        /// When the owner's credential was issued, if it has no session.
        var boundAt: Int64 = 0
        var generation: Int64
        /// The content of the last registration, in canonical form.
        var snapshot: JSON
        var lastSeenAt: Date
        var topics: [String: Bool] = [:]
        var inbox = Inbox()
        var tokens = TokenSet()

        /// Changes the binding. A new owner gets no choices, notifications and tokens of the former owner.
        mutating func change(to owner: Owner?, _ state: State, generation: Int64) {
            if owner?.user != self.owner?.user {
                topics = [:]
                inbox = Inbox()
                tokens = TokenSet()
            }
            if state != .active { tokens = TokenSet() }
            self.owner = owner
            self.state = state
            self.generation = generation
        }
    }

    /// The numbered notifications of one epoch.
    struct Inbox {
        struct Item {
            var number: Int64
            var payload: JSON
            var at: Date
            var expiresAt: Date
            var collapseID: String?
        }

        let epoch = UUID().uuidString.prefix(8).lowercased()
        let key = "prd_\(UUID().uuidString)"
        var last: Int64 = 0
        var acknowledged: Int64 = 0
        /// The highest number that was dropped because too many waited.
        var dropped: Int64 = 0
        var items: [Item] = []
    }

    /// Tombstones of sessions and users that were logged out.
    struct Endings {
        var sessions: Set<String> = []
        /// Credentials of these users that were issued before this second are refused.
        var users: [String: Int64] = [:]
        var installations: Set<String> = []
        var installationUsers: [String: Int64] = [:]

        func contains(_ token: UserToken, at installID: String? = nil) -> Bool {
            if let session = token.sid, sessions.contains(session) { return true }
            if let second = users[token.sub], token.iat < second { return true }
            guard let installID else { return false }
            if let session = token.sid { return installations.contains("\(installID)\n\(session)") }
            return installationUsers["\(installID)\n\(token.sub)"].map { token.iat < $0 } ?? false
        }
    }
}
