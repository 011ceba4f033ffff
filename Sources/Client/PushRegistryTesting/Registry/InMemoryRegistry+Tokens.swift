import Foundation
import PushRegistryClient

extension InMemoryRegistry {
    public typealias TokenKind = PushRegistryClient.TokenKind

    /// A token beside the one for alerts, as the registry hands it out.
    public struct TokenView: Sendable, Hashable {
        public var kind: TokenKind
        public var name: String?
        public var token: String
        /// Nil if it does not expire.
        public var expiresAt: Date?
    }

    /// The tokens of an installation, by kind and name.
    struct TokenSet: Equatable {
        struct ID: Hashable {
            var kind: TokenKind
            var name: String?
        }

        struct Item: Equatable {
            var text: String
            var expiresAt = Date.distantFuture
        }

        static let countMax = 16

        var items: [ID: Item] = [:]

        func live(at now: Date) -> Self { Self(items: items.filter { $0.value.expiresAt > now }) }

        func only(_ kinds: Set<TokenKind>) -> Self { Self(items: items.filter { kinds.contains($0.key.kind) }) }

        func contains(_ text: String, _ kind: TokenKind) -> Bool {
            items.contains { $0.key.kind == kind && $0.value.text == text }
        }
    }

    /// The installation that a push to this token reaches; nil without one.
    public func holder(of token: String, kind: TokenKind) -> InstallationView? {
        let now = clock.now
        let id = installations.first {
            $0.value.state == .active && $0.value.tokens.live(at: now).contains(token, kind)
        }
        return id.flatMap { installation($0.key) }
    }

    /// Stores a whole set. R1 holds for each kind: the tokens leave their present holders.
    func store(_ tokens: TokenSet, for installID: String) {
        for (id, other) in installations where id != installID {
            let remaining = other.tokens.items.filter { !tokens.contains($0.value.text, $0.key.kind) }
            installations[id]?.tokens.items = remaining
        }
        installations[installID]?.tokens = tokens
    }

    /// Answers `PUT` and `DELETE …/tokens/{kind}/{name}`.
    func changeToken(_ call: Call, by caller: Caller) throws(Refusal) -> Response {
        let installation = try changeable(call, by: caller)
        guard call.rest.count == 3, let kind = TokenKind(rawValue: call.rest[1]) else {
            throw Refusal(404, "not-found")
        }
        let id = TokenSet.ID(kind: kind, name: call.rest[2] == "-" ? nil : call.rest[2])
        try checkPrecondition(call, installation, mayRead: mayRead(installation, caller))
        guard installation.state == .active else { throw Refusal(409, "not-active") }
        guard call.request.method == "PUT" else {
            installations[call.installID]?.tokens.items[id] = nil
            return Response(status: 204)
        }
        let item = try installation.tokens.item(call.json(), id, at: clock.now, pointer: "")
        guard item.expiresAt > clock.now, installation.provider.hasPrefix("apns") else {
            throw .fault("/expiresAt")
        }
        var tokens = installation.tokens.live(at: clock.now)
        tokens.items[id] = item
        guard tokens.items.count <= TokenSet.countMax else { throw Refusal(409, "too-many-tokens") }
        store(tokens, for: call.installID)
        return .json(
            [
                "installId": .string(call.installID), "generation": .integer(installation.generation),
                "tokens": .integer(Int64(tokens.items.count)),
            ], fields: ["etag": installation.eTag])
    }

    /// An installation of which the caller may change a token.
    private func changeable(_ call: Call, by caller: Caller) throws(Refusal) -> Installation {
        guard case .nobody = caller else { return try readable(call, by: caller) }
        guard let installation = installations[call.installID] else { throw Refusal(404, "unknown-installation") }
        guard call.deliveryKey.map({ $0 == installation.inbox.key }) ?? (installation.owner == nil) else {
            throw Refusal(403, "owned-installation")
        }
        return installation
    }
}

extension InMemoryRegistry.TokenSet {
    typealias JSON = PushRegistryClient.JSON
    typealias Refusal = InMemoryRegistry.Refusal

    /// The set after a registration with this member, and how many tokens were left out because they have expired.
    func replaced(by json: JSON, provider: String, at now: Date) throws(Refusal) -> (tokens: Self, expired: Int) {
        guard case .array(let members) = json, members.count <= Self.countMax,
            members.isEmpty || provider.hasPrefix("apns")
        else { throw .fault("/tokens") }
        var tokens = Self()
        for (index, member) in members.enumerated() {
            let pointer = "/tokens/\(index)"
            guard let kind = InMemoryRegistry.TokenKind(rawValue: member["kind"]?.string ?? "") else {
                throw .fault("\(pointer)/kind")
            }
            let id = ID(kind: kind, name: member["name"]?.string)
            guard tokens.items[id] == nil else { throw .fault("\(pointer)/name") }
            tokens.items[id] = try item(member, id, at: now, pointer: pointer)
        }
        return (tokens.live(at: now), tokens.items.count - tokens.live(at: now).items.count)
    }

    /// Without `expiresAt`, the time counts from the first receipt of the token.
    fileprivate func item(_ json: JSON, _ id: ID, at now: Date, pointer: String) throws(Refusal) -> Item {
        guard id.name.map(Self.isName) ?? (id.kind != .liveActivity) else { throw .fault("\(pointer)/name") }
        let text = json["token"]?.string?.lowercased() ?? ""
        guard text.wholeMatch(of: #/[0-9a-f]{16,400}/#) != nil else { throw .fault("\(pointer)/token") }
        if let end = json["expiresAt"]?.string {
            guard let date = try? Date(end, strategy: .iso8601), date <= now + 400 * 86_400 else {
                throw .fault("\(pointer)/expiresAt")
            }
            return Item(text: text, expiresAt: date)
        }
        if let known = live(at: now).items[id], known.text == text { return known }
        switch id.kind {
        case .liveActivity: return Item(text: text, expiresAt: now + 12 * 3_600)
        case .liveActivityStart: return Item(text: text, expiresAt: now + 90 * 86_400)
        default: return Item(text: text)
        }
    }

    private static func isName(_ name: String) -> Bool {
        name.wholeMatch(of: #/[!-~]{1,128}/#) != nil && !["-", ".", ".."].contains(name)
    }
}

extension InMemoryRegistry.Refusal {
    /// A fault of the body.
    static func fault(_ pointer: String) -> Self {
        Self(400, "invalid-body", ["errors": [["pointer": .string(pointer), "code": "invalid-value"]]])
    }
}
