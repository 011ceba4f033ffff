import RegistryTestSupport
import Testing

extension RegistryApp {
    /// Creates or changes a message.
    @discardableResult
    func putMessage(_ name: String, _ body: JSON = [:]) async throws -> JSON {
        let response = try await send("PUT", "/messages/\(name)", body, by: .role(.sender))
        #expect([200, 201].contains(response.status), "\(response.text)")
        return response.json
    }

    func counts(of message: String, by credential: Credential = .role(.marketing)) async throws -> MessageNumbers {
        let response = try await send("GET", "/messages/\(message)", by: credential)
        #expect(response.status == 200, "\(response.text)")
        return MessageNumbers(response.json)
    }

    /// Exports all installations for a message: their receipts, by their ids.
    func receipts(
        of message: String, _ more: JSON = [:], filter: JSON = [:]
    ) async throws -> [String: String] {
        var body: JSON = ["filter": filter, "message": .string(message)]
        for (name, value) in more.object { body[name] = value }
        return Dictionary(
            uniqueKeysWithValues: try await export(body).map {
                ($0["installId"].string ?? "", $0["receipt"].string ?? "")
            })
    }

    /// Reports events as an app does, and returns the results.
    func report(_ items: [JSON]) async throws -> [String] {
        let response = try await registry.send("POST", "/v1/receipts", ["receipts": .array(items)], key: nil)
        #expect(response.status == 200, "\(response.text)")
        return response.json["results"].array.compactMap(\.string)
    }

    func report(_ event: String, _ receipt: String?, at time: String? = nil) async throws -> String? {
        var item: JSON = ["receipt": .string(receipt ?? ""), "event": .string(event)]
        if let time { item["at"] = .string(time) }
        return try await report([item]).first
    }
}

/// The six counts.
struct MessageNumbers: Equatable, CustomStringConvertible {
    static let names = ["targeted", "accepted", "failed", "delivered", "opened", "dismissed"]

    let numbers: [Int64]

    init(_ json: JSON) {
        numbers = Self.names.map { json[$0].integer ?? -1 }
    }

    init(
        targeted: Int64 = 0, accepted: Int64 = 0, failed: Int64 = 0, delivered: Int64 = 0, opened: Int64 = 0,
        dismissed: Int64 = 0
    ) {
        numbers = [targeted, accepted, failed, delivered, opened, dismissed]
    }

    var description: String { zip(Self.names, numbers).map { "\($0) \($1)" }.joined(separator: ", ") }
}
