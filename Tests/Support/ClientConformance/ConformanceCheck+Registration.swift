import Foundation
import PushRegistryClient

extension ConformanceCheck {
    static let registration = [
        ConformanceCheck("a registration is created, then unchanged, and updated after a change") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            try expect(first, 201, nil, "first")
            try expect(first.json["status"], "created", "status")
            try expect(first.json["state"], "active", "state")
            try expect(first.json["userId"], "alice", "user")
            try expect(first.json["installId"], .string(registry.id), "installation")
            let same = try await registry.register(registry.id, by: alice)
            try expect(same.status, 200, "same")
            try expect(same.json["status"], "unchanged", "same status")
            try expect(same.fields["etag"], first.fields["etag"], "generation")
            let other = try await registry.register(registry.id, registry.body(registry.id, model: "iPad"), by: alice)
            try expect(other.json["status"], "updated", "other settings")
            try expect(other.fields["etag"], first.fields["etag"], "a snapshot has no generation")
        },
        ConformanceCheck("the ETag is the generation, which grows with the token") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            guard case .integer(let before)? = first.json["generation"] else {
                throw ConformanceFailure(description: "no generation")
            }
            try expect(first.fields["etag"], "\"\(before)\"", "ETag")
            let rotated = try await registry.register(
                registry.id, registry.body(registry.id, token: registry.token("rotated")), by: alice,
                ifMatch: first.fields["etag"])
            guard case .integer(let after)? = rotated.json["generation"], after > before else {
                throw ConformanceFailure(description: "the generation does not grow")
            }
        },
        ConformanceCheck("upper-case digits are the same token") { registry in
            let alice = try await registry.target.credential(user: "alice")
            _ = try await registry.register(registry.id, by: alice)
            let upper = registry.body(registry.id, token: registry.token(registry.id).uppercased())
            try expect(try await registry.register(registry.id, upper, by: alice).json["status"], "unchanged", "status")
        },
        ConformanceCheck("a token moves to the installation that registers it last") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let bob = try await registry.target.credential(user: "bob")
            let (old, new) = ("old-\(registry.id)", "new-\(registry.id)")
            _ = try await registry.register(old, registry.body(old, token: registry.token()), by: alice)
            let taken = try await registry.register(new, registry.body(new, token: registry.token()), by: bob)
            try expect(taken, 201, nil, "takeover")
            let back = try await registry.register(old, registry.body(old, token: registry.token()), by: alice)
            try expect(back, 200, nil, "and back")
            try expect(back.json["status"], "updated", "it is no unchanged registration")
        },
        ConformanceCheck("another user on the same installation is an update with a new generation") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let bob = try await registry.target.credential(user: "bob")
            let first = try await registry.register(registry.id, by: alice)
            let second = try await registry.register(registry.id, by: bob)
            try expect(second.json["userId"], "bob", "user")
            try expect(second.json["status"], "updated", "status")
            try expect(second.fields["etag"] == first.fields["etag"], false, "same generation")
        },
        ConformanceCheck("the publishable key registers without a user") { registry in
            let first = try await registry.register(registry.id, by: registry.target.key)
            try expect(first, 201, nil, "anonymous")
            try expect(first.json["userId"] ?? .null, .null, "user")
            let alice = try await registry.target.credential(user: "alice")
            try expect(try await registry.register(registry.id, by: alice).json["userId"], "alice", "user")
            let again = try await registry.register(registry.id, by: registry.target.key)
            try expect(again.json["userId"] ?? .null, .null, "a PUT replaces the user, too")
        },
        ConformanceCheck("registerAgainBefore is in the future") { registry in
            let response = try await registry.register(registry.id, by: registry.target.key)
            guard case .string(let text)? = response.json["registerAgainBefore"], text.hasSuffix("Z") else {
                throw ConformanceFailure(description: "no time in UTC")
            }
        },
        ConformanceCheck("a user reads own installations only") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let bob = try await registry.target.credential(user: "bob")
            _ = try await registry.register(registry.id, by: alice)
            try expect(try await registry.record(registry.id, by: alice), 200, nil, "own")
            try expect(try await registry.record(registry.id, by: bob), 404, "unknown-installation", "another user's")
            try expect(
                try await registry.record(registry.id, by: registry.target.key), 404, "unknown-installation", "by key")
        },
        ConformanceCheck("a deletion is idempotent") { registry in
            let alice = try await registry.target.credential(user: "alice")
            _ = try await registry.register(registry.id, by: alice)
            for _ in 0..<2 {
                let response = try await registry.send("DELETE", "installations/\(registry.id)", by: alice)
                try expect(response, 204, nil, "deletion")
            }
            try expect(try await registry.record(registry.id, by: alice), 404, nil, "record")
        },
    ]

    static let refusals = [
        ConformanceCheck("an older generation is 412") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            let rotated = registry.body(registry.id, token: registry.token("rotated"))
            let second = try await registry.register(registry.id, rotated, by: alice)
            let refusal = try await registry.register(registry.id, by: alice, ifMatch: first.fields["etag"])
            try expect(refusal, 412, "outdated", "refusal")
            try expect(refusal.json["generation"], second.json["generation"], "generation")
            try expect(refusal.fields["etag"], second.fields["etag"], "ETag")
            try expect(try await registry.register(registry.id, by: alice), 200, nil, "without If-Match")
        },
        ConformanceCheck("If-Match on an unknown installation is 412") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let refusal = try await registry.register(registry.id, by: alice, ifMatch: "\"7\"")
            try expect(refusal, 412, "outdated", "refusal")
            try expect(refusal.json["generation"], nil, "generation")
        },
        ConformanceCheck("a missing or bad credential is 401") { registry in
            let path = "installations/\(registry.id)"
            let body = registry.body(registry.id)
            try expect(try await registry.send("PUT", path, body, by: nil), 401, "missing-credential", "none")
            try expect(try await registry.send("PUT", path, body, by: "wrong"), 401, "invalid-credential", "bad")
            let expired = try await registry.target.credential(user: "alice", session: nil, age: 7_200, life: -3_600)
            try expect(try await registry.send("PUT", path, body, by: expired), 401, "invalid-credential", "expired")
        },
        ConformanceCheck("a body without required members is 400, with a pointer to each") { registry in
            let refusal = try await registry.register(registry.id, ["device": [:]], by: registry.target.key)
            try expect(refusal, 400, "invalid-body", "refusal")
            guard case .array(let errors)? = refusal.json["errors"] else {
                throw ConformanceFailure(description: "no errors")
            }
            let pointers = Set(errors.compactMap { $0["pointer"] })
            for pointer in ["/token", "/device/installId", "/device/deviceModel", "/device/locale"] {
                try expect(pointers.contains(.string(pointer)), true, pointer)
            }
        },
        ConformanceCheck("the id in the body must be that of the path") { registry in
            let refusal = try await registry.register(registry.id, registry.body("other"), by: registry.target.key)
            try expect(refusal, 400, "invalid-body", "refusal")
        },
        ConformanceCheck("a JWT of an ended session neither registers nor reads") { registry in
            let session = "session-\(registry.id)"
            let alice = try await registry.target.credential(user: "alice", session: session)
            _ = try await registry.register(registry.id, by: alice)
            try await registry.target.endSession(session)
            try expect(try await registry.register(registry.id, by: alice), 409, "session-ended", "registration")
            try expect(try await registry.record(registry.id, by: alice), 401, "credential-ended", "record")
            let next = try await registry.target.credential(user: "alice", session: "next-\(registry.id)")
            try expect(try await registry.register(registry.id, by: next), 200, nil, "a new session")
        },
    ]

    static let rotations = [
        ConformanceCheck("the delivery key lets the publishable key rotate an owner's token") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            let rotated = registry.body(registry.id, token: registry.token("rotated"))
            let proof = ["X-Delivery-Key": try first.deliveryKey]
            let response = try await registry.register(registry.id, rotated, by: registry.target.key, proof)
            try expect(response, 200, nil, "rotation")
            try expect(response.json["userId"] ?? .null, .null, "user in the response")
            let same = try await registry.register(registry.id, rotated, by: alice)
            try expect(same.json["status"], "unchanged", "the owner has the new token")
            try expect(same.json["epoch"], first.json["epoch"], "epoch")
            try expect(same.json["deliveryKey"], first.json["deliveryKey"], "delivery key")
        },
        ConformanceCheck("without it, the publishable key rotates no owner's token") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            let rotated = registry.body(registry.id, token: registry.token("rotated"))
            let key = registry.target.key
            let without = try await registry.register(registry.id, rotated, by: key)
            try expect(without, 403, "owned-installation", "another token")
            let other = ["X-Delivery-Key": "prd_" + String(repeating: "a", count: 43)]
            for body in [rotated, registry.body(registry.id)] {
                let wrong = try await registry.register(registry.id, body, by: key, other)
                try expect(wrong, 403, "owned-installation", "another delivery key")
            }
            let record = try await registry.record(registry.id, by: alice)
            try expect(record.fields["etag"], first.fields["etag"], "nothing has changed")
            let held = try await registry.register(registry.id, by: key)
            try expect(held, 200, nil, "the token that it holds")
            try expect(try await registry.record(registry.id, by: key), 200, nil, "it is anonymous")
        },
        ConformanceCheck("a delivery key rotates no token after the logout") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let proof = ["X-Delivery-Key": try await registry.register(registry.id, by: alice).deliveryKey]
            _ = try await registry.logOut(registry.id, by: alice)
            let late = try await registry.register(registry.id, by: registry.target.key, proof)
            try expect(late, 403, "owned-installation", "registration")
        },
    ]

    static let logout = [
        ConformanceCheck("a logout is idempotent") { registry in
            let alice = try await registry.target.credential(user: "alice", session: "s-\(registry.id)")
            let first = try await registry.register(registry.id, by: alice)
            let logout = try await registry.logOut(registry.id, by: alice, ifMatch: first.fields["etag"])
            try expect(logout, 200, nil, "logout")
            try expect(logout.json["status"], "loggedOut", "status")
            let again = try await registry.logOut(registry.id, by: alice)
            try expect(again.json["status"], "alreadyLoggedOut", "again")
            try expect(try await registry.register(registry.id, by: alice), 409, "session-ended", "the session ended")
        },
        ConformanceCheck("a late logout does not remove the next user") { registry in
            let alice = try await registry.target.credential(user: "alice", session: "a-\(registry.id)")
            let bob = try await registry.target.credential(user: "bob", session: "b-\(registry.id)")
            let first = try await registry.register(registry.id, by: alice)
            _ = try await registry.register(registry.id, by: bob)
            let late = try await registry.logOut(registry.id, by: alice, ifMatch: first.fields["etag"])
            try expect(late, 200, nil, "logout")
            try expect(late.json["status"], "outdated", "status")
            try expect(try await registry.record(registry.id, by: bob).json["state"], "active", "state")
        },
        ConformanceCheck("a late logout does not end the session in which the token has changed since") { registry in
            for session in ["s-\(registry.id)", nil] {
                let alice = try await registry.target.credential(user: "alice", session: session, age: 60)
                let first = try await registry.register(registry.id, by: alice)
                let rotated = registry.body(registry.id, token: registry.token(session ?? "none"))
                _ = try await registry.register(registry.id, rotated, by: alice)
                let late = try await registry.logOut(registry.id, by: alice, ifMatch: first.fields["etag"])
                try expect(late.json["status"], "outdated", "status")
                try expect(try await registry.register(registry.id, by: alice), 200, nil, "registration")
            }
        },
        ConformanceCheck("an expired credential still logs out") { registry in
            let session = "s-\(registry.id)"
            let alice = try await registry.target.credential(user: "alice", session: session)
            _ = try await registry.register(registry.id, by: alice)
            let expired = try await registry.target.credential(
                user: "alice", session: session, age: 900_000, life: -864_000)
            try expect(try await registry.logOut(registry.id, by: expired).json["status"], "loggedOut", "status")
        },
        ConformanceCheck("the publishable key logs an owner out only with the delivery key") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let first = try await registry.register(registry.id, by: alice)
            let proof = ["X-Delivery-Key": try first.deliveryKey]
            let key = registry.target.key
            try expect(try await registry.logOut(registry.id, by: key), 403, nil, "without")
            let eTag = first.fields["etag"]
            try expect(try await registry.logOut(registry.id, by: key, ifMatch: eTag), 403, nil, "generation")
            let logout = try await registry.logOut(registry.id, by: key, proof)
            try expect(logout.json["status"], "loggedOut", "present")
            let ended = try await registry.logOut(registry.id, by: key, proof)
            try expect(ended, 403, nil, "ended")
            try expect(ended.json["generation"], nil, "generation of a refusal")
        },
        ConformanceCheck("keepAnonymous leaves the installation active") { registry in
            let alice = try await registry.target.credential(user: "alice")
            _ = try await registry.register(registry.id, by: alice)
            _ = try await registry.logOut(registry.id, by: alice, keepAnonymous: true)
            let record = try await registry.record(registry.id, by: registry.target.key)
            try expect(record.json["state"], "active", "state")
            try expect(record.json["userId"] ?? .null, .null, "user")
        },
        ConformanceCheck("logouts of unknown and of other users' installations look the same") { registry in
            let alice = try await registry.target.credential(user: "alice")
            let logout = try await registry.logOut(registry.id, by: alice)
            try expect(logout, 200, nil, "logout")
            try expect(logout.json, ["status": "outdated"], "response")
            try expect(try await registry.logOut(registry.id, by: registry.target.key), 403, "forbidden", "by key")
        },
    ]
}
