import Foundation
import PushRegistryClient

// Tokens beside the one for alerts.
extension ConformanceCheck {
    static let tokens = [
        ConformanceCheck("the tokens of a registration replace the set, in any order, and an absent member leaves it") {
            registry in
            let alice = try await registry.target.credential(user: "alice")
            let (start, voip) = (registry.item("liveActivityStart"), registry.item("voip", name: "calls"))
            try expect(try await registry.register(registry.id, tokens: [start, voip], by: alice), 201, nil, "first")
            for tokens in [[voip, start], nil] as [[Conversation.JSON]?] {
                let same = try await registry.register(registry.id, tokens: tokens, by: alice)
                try expect(same.json["status"], "unchanged", "\(tokens?.count ?? 0) tokens")
            }
            try expect(try await registry.countWithAnother(by: alice), .integer(3), "all")
            let replaced = try await registry.register(registry.id, tokens: [voip], by: alice)
            try expect(replaced.json["status"], "updated", "replaced")
            try expect(try await registry.countWithAnother(by: alice), .integer(2), "replaced")
            _ = try await registry.register(registry.id, tokens: [], by: alice)
            try expect(try await registry.countWithAnother(by: alice), .integer(1), "none")
        },
        ConformanceCheck("one token is changed alone, without a new generation") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            for _ in 0..<2 {
                let put = try await registry.putToken("liveActivity/a%2Fb", by: alice)
                try expect(put, 200, nil, "PUT")
                try expect(put.json["installId"], .string(registry.id), "installation")
                try expect(put.json["tokens"], .integer(1), "tokens")
                try expect(put.json["generation"], first.json["generation"], "generation")
            }
            for _ in 0..<2 {
                let path = "installations/\(registry.id)/tokens/liveActivity/a%2Fb"
                try expect(try await registry.send("DELETE", encoded: path, nil, by: alice), 204, nil, "DELETE")
            }
            try expect(try await registry.countWithAnother(by: alice), .integer(1), "after the DELETE")
        },
        ConformanceCheck("a token alone needs an active installation of the caller") { registry in
            let key = registry.target.key
            try expect(try await registry.putToken("voip/-", by: key), 404, "unknown-installation", "none")
            _ = try await registry.register(registry.id, by: key)
            _ = try await registry.logOut(registry.id, by: key)
            try expect(try await registry.putToken("voip/-", by: key), 409, "not-active", "logged out")
            let alice = try await registry.target.credential(user: "alice")
            let bob = try await registry.target.credential(user: "bob")
            let proof = ["X-Delivery-Key": try await registry.register(registry.id, by: alice).deliveryKey]
            try expect(try await registry.putToken("voip/-", by: bob), 404, "unknown-installation", "another user")
            try expect(try await registry.putToken("voip/-", by: key), 403, "owned-installation", "by key")
            try expect(try await registry.putToken("voip/-", by: key, proof), 200, nil, "by delivery key")
        },
        ConformanceCheck("an installation has at most 16 tokens") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let items = (0..<17).map { registry.item("voip", name: "\($0)") }
            try expect(try await registry.register(registry.id, tokens: items, by: alice), 400, nil, "17 tokens")
            try expect(
                try await registry.register(registry.id, tokens: Array(items.dropLast()), by: alice), 201, nil, "16")
            try expect(try await registry.putToken("voip/0", by: alice), 200, nil, "one of them")
            try expect(try await registry.putToken("voip/16", by: alice), 409, "too-many-tokens", "another one")
        },
        ConformanceCheck("invalid tokens are refused, and expired ones are left out") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let past: Conversation.JSON = "2020-01-01T00:00:00Z"
            for (item, what) in [
                (registry.item("hologram"), "an unknown kind"), (registry.item("liveActivity"), "no name"),
                (registry.item("voip", name: "-"), "a reserved name"),
                (["kind": "voip", "token": "no digits"], "no token"),
                (registry.item("voip", expiresAt: "2099-01-01T00:00:00Z"), "a late end"),
            ] as [(Conversation.JSON, String)] {
                try expect(try await registry.register(registry.id, tokens: [item], by: alice), 400, nil, what)
            }
            let expired = try await registry.register(
                registry.id, tokens: [registry.item("voip", expiresAt: past)], by: alice)
            try expect(expired, 201, nil, "expired")
            try expect(expired.json["expired"], .integer(1), "number of expired ones")
            try expect(try await registry.putToken("voip/-", expiresAt: past, by: alice), 400, nil, "expired alone")
            try expect(try await registry.countWithAnother(by: alice), .integer(1), "tokens")
        },
        ConformanceCheck("a token moves to the installation that registers it last") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let item = registry.item("liveActivityStart")
            let (old, new) = (registry.id, "new-\(registry.id)")
            _ = try await registry.register(old, tokens: [item, registry.item("voip")], by: alice)
            try expect(try await registry.register(new, tokens: [item], by: alice), 201, nil, "takeover")
            try expect(try await registry.countWithAnother(by: alice), .integer(2), "the former holder keeps the rest")
        },
        ConformanceCheck("another owner ends the set, another session does not") { registry in
            let alice = try await registry.target.credential(user: "alice", session: "a-\(registry.id)")
            let again = try await registry.target.credential(user: "alice", session: "b-\(registry.id)")
            let bob = try await registry.target.credential(user: "bob")
            _ = try await registry.register(registry.id, tokens: [registry.item("voip")], by: alice)
            _ = try await registry.register(registry.id, by: again)
            try expect(try await registry.countWithAnother(by: again), .integer(2), "another session")
            _ = try await registry.register(registry.id, by: bob)
            try expect(try await registry.countWithAnother(by: bob), .integer(1), "another owner")
        },
        ConformanceCheck("keepAnonymous keeps the tokens of widgets and complications") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let items = ["widget", "voip", "complication"].map { registry.item($0) }
            _ = try await registry.register(registry.id, tokens: items, by: alice)
            _ = try await registry.logOut(registry.id, by: alice, keepAnonymous: true)
            try expect(try await registry.countWithAnother(by: registry.target.key), .integer(3), "tokens")
        },
        ConformanceCheck("only installations of APNs have tokens, but an empty set is allowed") { registry in
            let alice = try await registry.target.credential(user: "alice")
            for (tokens, status) in [([registry.item("voip")], 400), ([], 201)] as [([Conversation.JSON], Int)] {
                guard case .object(var body) = registry.body(registry.id) else { return }
                body["provider"] = "fcm"
                body["tokens"] = .array(tokens)
                try expect(
                    try await registry.register(registry.id, .object(body), by: alice), status, nil,
                    "\(tokens.count) tokens")
            }
        },
    ]
}

extension Conversation {
    /// An item of the member `tokens`.
    fileprivate func item(_ kind: String, name: String? = nil, expiresAt: JSON? = nil) -> JSON {
        var item: [String: JSON] = ["kind": .string(kind), "token": .string(token("\(kind)\(name ?? "")"))]
        item["name"] = name.map { .string($0) }
        item["expiresAt"] = expiresAt
        return .object(item)
    }

    fileprivate func register(_ id: String, tokens: [JSON]?, by credential: String) async throws -> Response {
        guard case .object(var body) = body(id) else { throw ConformanceFailure(description: "no body") }
        body["tokens"] = tokens.map { .array($0) }
        return try await register(id, .object(body), by: credential)
    }

    fileprivate func putToken(
        _ path: String, expiresAt: JSON? = nil, by credential: String, _ fields: [String: String] = [:]
    ) async throws -> Response {
        var body: [String: JSON] = ["token": .string(token(path))]
        body["expiresAt"] = expiresAt
        return try await send(
            "PUT", encoded: "installations/\(id)/tokens/\(path)", .object(body), by: credential, fields)
    }

    /// Stores a token of another kind, and removes it again.
    ///
    /// - Returns: the number of tokens with it.
    fileprivate func countWithAnother(by credential: String) async throws -> JSON? {
        let response = try await putToken("pushToTalk/another", by: credential)
        let path = "installations/\(id)/tokens/pushToTalk/another"
        try expect(try await send("DELETE", encoded: path, nil, by: credential), 204, nil, "DELETE")
        return response.json["tokens"]
    }

    fileprivate func send(
        _ method: String, encoded path: String, _ body: JSON?, by credential: String, _ fields: [String: String] = [:]
    ) async throws -> Response {
        guard let url = URL(string: "\(target.url.absoluteString)/v1/apps/\(target.app)/\(path)") else {
            throw ConformanceFailure(description: "no URL")
        }
        return try await send(method, url, body, credential, fields)
    }
}
