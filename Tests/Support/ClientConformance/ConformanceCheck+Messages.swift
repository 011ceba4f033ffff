import Foundation
import PushRegistryClient

extension ConformanceCheck {
    static let topics = [
        ConformanceCheck("a registration applies its choices, and ignores unknown and locked topics") { registry in
            try await registry.target.define(topic: "news", locked: false)
            try await registry.target.define(topic: "security", locked: true)
            let alice = try await registry.target.credential(user: "alice-\(registry.id)")
            let body = registry.body(
                registry.id, topics: ["news": true, "security": false, "no-such-topic": true])
            try expect(try await registry.register(registry.id, body, by: alice), 201, nil, "registration")
            let response = try await registry.send("GET", "installations/\(registry.id)/topics", by: alice)
            try expect(response, 200, nil, "topics")
            guard case .array(let rows)? = response.json["topics"] else {
                throw ConformanceFailure(description: "no topics")
            }
            let news = rows.first { $0["topic"] == "news" }
            try expect(news?["subscribed"], .boolean(true), "news")
            try expect(news?["from"], "installation", "origin of news")
            let security = rows.first { $0["topic"] == "security" }
            try expect(security?["subscribed"], .boolean(true), "security")
            try expect(security?["locked"], .boolean(true), "locked")
        },
        ConformanceCheck("choices on an installation end with its owner") { registry in
            try await registry.target.define(topic: "news", locked: false)
            let alice = try await registry.target.credential(user: "alice-\(registry.id)")
            let bob = try await registry.target.credential(user: "bob-\(registry.id)")
            _ = try await registry.register(
                registry.id, registry.body(registry.id, topics: ["news": true]), by: alice)
            _ = try await registry.register(registry.id, by: bob)
            let response = try await registry.send("GET", "installations/\(registry.id)/topics", by: bob)
            guard case .array(let rows)? = response.json["topics"] else {
                throw ConformanceFailure(description: "no topics")
            }
            try expect(rows.first { $0["topic"] == "news" }?["subscribed"], .boolean(false), "news")
        },
        ConformanceCheck("without an owner, choices and delivery key end when another installation takes the token") {
            registry in
            try await registry.target.define(topic: "news", locked: false)
            let (key, other) = (registry.target.key, "other-\(registry.id)")
            let first = try await registry.register(
                registry.id, registry.body(registry.id, topics: ["news": true]), by: key)
            let token = registry.token(registry.id)
            try expect(
                try await registry.register(other, registry.body(other, token: token), by: key), 201, nil, "takeover")
            try expect(try await registry.notifications(by: first.deliveryKey), 401, nil, "fetch")
            _ = try await registry.register(
                registry.id, registry.body(registry.id, token: registry.token("next")), by: key)
            let response = try await registry.send("GET", "installations/\(registry.id)/topics", by: key)
            guard case .array(let rows)? = response.json["topics"] else {
                throw ConformanceFailure(description: "no topics")
            }
            try expect(rows.first { $0["topic"] == "news" }?["subscribed"], .boolean(false), "news")
        },
    ]

    static let notifications = [
        ConformanceCheck("notifications are numbered, fetched in order and acknowledged") { registry in
            let user = "alice-\(registry.id)"
            let alice = try await registry.target.credential(user: user)
            let registered = try await registry.register(registry.id, by: alice)
            let key = try registered.deliveryKey
            guard case .string(let epoch)? = registered.json["epoch"] else {
                throw ConformanceFailure(description: "no epoch")
            }
            for number in 1...3 {
                let badges = try await registry.target.notify(user: user, payload: ["n": .integer(Int64(number))])
                try expect(badges, [number], "badge")
            }
            let all = try await registry.notifications(by: key)
            try expect(all, 200, nil, "fetch")
            try expect(all.json["epoch"], .string(epoch), "epoch")
            try expect(all.json["last"], .integer(3), "last")
            try expect(numbers(all), [1, 2, 3], "all")
            try expect(numbers(try await registry.notifications("after=2&epoch=\(epoch)", by: key)), [3], "after 2")
            try expect(numbers(try await registry.notifications(by: key)), [3], "acknowledged")
            try expect(try await registry.target.notify(user: user, payload: 4), [2], "badge after that")
        },
        ConformanceCheck("another epoch, or a number above the last one, is 410") { registry in
            let user = "alice-\(registry.id)"
            let alice = try await registry.target.credential(user: user)
            let registered = try await registry.register(registry.id, by: alice)
            let key = try registered.deliveryKey
            try await registry.target.notify(user: user, payload: ["n": 1])
            for query in ["after=0&epoch=other", "after=9"] {
                let gone = try await registry.notifications(query, by: key)
                try expect(gone, 410, "notifications-gone", query)
                try expect(gone.json["epoch"], registered.json["epoch"], "epoch")
                try expect(gone.json["first"], .integer(1), "first")
                try expect(gone.json["last"], .integer(1), "last")
            }
        },
        ConformanceCheck("what was acknowledged is no gap") { registry in
            let user = "alice-\(registry.id)"
            let alice = try await registry.target.credential(user: user)
            let key = try await registry.register(registry.id, by: alice).deliveryKey
            for number in 1...102 { try await registry.target.notify(user: user, payload: .integer(Int64(number))) }
            try expect(try await registry.notifications(by: key), 410, "notifications-gone", "before")
            try expect(try await registry.notifications("after=2", by: key), 200, nil, "acknowledgement")
            let again = try await registry.notifications(by: key)
            try expect(again, 200, nil, "after that")
            try expect(numbers(again).first, 3, "first")
        },
        ConformanceCheck("the delivery key ends with the logout") { registry in
            let alice = try await registry.target.credential(user: "alice-\(registry.id)")
            let registered = try await registry.register(registry.id, by: alice)
            let key = try registered.deliveryKey
            _ = try await registry.logOut(registry.id, by: alice)
            try expect(try await registry.notifications(by: key), 401, nil, "fetch")
        },
    ]

    static let receipts = [
        ConformanceCheck("a call without receipts is 400") { registry in
            let url = registry.target.url.appendingPathComponent("v1/receipts")
            let empty = try await registry.send("POST", url, ["receipts": []], nil)
            try expect(empty, 400, nil, "none")
        }
    ]

    private static func numbers(_ response: PushRegistryClient.Response) -> [Int64] {
        guard case .array(let items)? = response.json["notifications"] else { return [] }
        return items.compactMap { if case .integer(let number)? = $0["number"] { number } else { nil } }
    }
}

extension Conversation {
    func notifications(_ query: String? = nil, by credential: String) async throws -> Response {
        let url = target.url.appendingPathComponent("v1/apps/\(target.app)/installations/\(id)/notifications")
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.query = query
        return try await send("GET", components?.url ?? url, nil, credential)
    }
}
