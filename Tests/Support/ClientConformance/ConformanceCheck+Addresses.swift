import Foundation
import PushRegistryClient

// What identifies a token, and how many installations a user may have.
extension ConformanceCheck {
    static let addresses = [
        ConformanceCheck("another spelling of a Firebase installation id is the same token") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let id = registry.id
            let first = try await registry.register(id, token: registry.fid + ":a", by: alice)
            for spelling in [registry.fid, registry.fid + ":b"] {
                let second = try await registry.register(id, token: spelling, by: alice)
                try expect(second.json["status"], "updated", "status")
                try expect(second.fields["etag"] == first.fields["etag"], false, "same generation")
                try expect(second.json["epoch"], first.json["epoch"], "epoch")
                let same = try await registry.register(id, token: spelling, by: alice)
                try expect(same.json["status"], "unchanged", "the same spelling")
            }
        },
        ConformanceCheck("a spelling moves the token to another installation") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let (old, new) = ("old-\(registry.id)", "new-\(registry.id)")
            for (before, after) in [(":a", ""), ("", ":b"), (":a", ":b"), ("", ":")] {
                _ = try await registry.register(old, token: registry.fid + before, by: alice)
                _ = try await registry.register(new, token: registry.fid + after, by: alice)
                let back = try await registry.register(old, token: registry.fid + before, by: alice)
                try expect(back.json["status"], "updated", "'\(before)' had moved to '\(after)'")
            }
        },
        ConformanceCheck("a text that is no Firebase installation id has one spelling") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let (old, new) = ("old-\(registry.id)", "new-\(registry.id)")
            let (digits, fewer) = (registry.fid.dropFirst(), registry.fid.dropFirst().dropLast())
            for (provider, start) in [
                ("fcm", "g\(digits)"), ("fcm", "C\(digits)"), ("fcm", "c\(fewer)"), ("fcm", "c\(digits)0"),
                ("fcm", "c\(fewer)."), ("huawei", "c\(digits)"),
            ] {
                _ = try await registry.register(old, token: start + ":a", provider, by: alice)
                _ = try await registry.register(new, token: start + ":b", provider, by: alice)
                let same = try await registry.register(old, token: start + ":a", provider, by: alice)
                try expect(same.json["status"], "unchanged", "\(provider): \(start)")
            }
        },
        ConformanceCheck("the publishable key proves itself by another spelling of the token") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let (id, key) = (registry.id, registry.target.key)
            _ = try await registry.register(id, token: registry.fid + ":a", by: alice)
            let other = try await registry.register(id, token: "d" + registry.fid.dropFirst(), by: key)
            try expect(other, 403, "owned-installation", "another id")
            try expect(try await registry.register(id, token: registry.fid, by: key), 200, nil, "another spelling")
            try expect(try await registry.record(id, by: key), 200, nil, "it is anonymous")
        },
        ConformanceCheck("a user has no more active installations than the policy allows") { registry in
            try await registry.target.limit(installationsPerUser: 2)
            let alice = try await registry.target.credential(user: "alice")
            let bob = try await registry.target.credential(user: "bob")
            let ids = (0..<3).map { "\($0)-\(registry.id)" }
            _ = try await registry.register("bob-\(registry.id)", by: bob)
            for id in ids { try expect(try await registry.register(id, by: alice), 201, nil, id) }
            for id in [ids[1], ids[2], "bob-\(registry.id)"] {
                let same = try await registry.register(id, by: id.hasPrefix("bob") ? bob : alice)
                try expect(same.json["status"], "unchanged", id)
            }
            for id in [ids[0], ids[1]] {
                let back = try await registry.register(id, by: alice)
                try expect(back.json["status"], "updated", "\(id) was superseded")
            }
        },
    ]
}

extension Conversation {
    /// A Firebase installation id of this check.
    fileprivate var fid: String { "c" + id.filter { $0 != "-" }.prefix(21) }

    fileprivate func register(
        _ id: String, token: String, _ provider: String = "fcm", by credential: String
    ) async throws -> Response {
        guard case .object(var body) = body(id, token: token) else {
            throw ConformanceFailure(description: "no body")
        }
        body["provider"] = .string(provider)
        return try await register(id, .object(body), by: credential)
    }
}
