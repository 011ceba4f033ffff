import PostgresClient
import RegistryTestSupport
import Testing

@Suite("A restored dump begins new epochs, in which numbers begin at 1 (fine print 61, 70)", .serialized)
struct NotificationRestoreTests {
    @Test func waitingNotifications_keepTheirOrder_withNumbersFromOne() async throws {
        try await withRegistry { registry in
            let app = try await RegistryApp.make(in: registry)
            let key = try await app.phone()
            for number in 1...4 { try await app.post(toPhone: "phone", .integer(Int64(number))) }
            try await app.post(toPhone: "phone", "once", ["dedupId": "d"])
            let before = try await app.fetch("phone", after: 2, by: key).json
            let empty = try await app.phone("empty")
            try await app.post(toPhone: "empty")
            #expect(try await app.fetch("empty", after: 1, by: empty).numbers.isEmpty)

            // As a dump arrives in another database.
            _ = try await registry.database.rows("UPDATE change_epoch SET identity = 'elsewhere'")
            let migrated = try await registry.run(["migrate"])
            #expect(migrated.status == 0, "\(migrated.log)")

            let registered = try await app.put("phone").json
            let next = RegistryApp.Credential.text(try #require(registered["deliveryKey"].string))
            #expect(registered["epoch"] != before["epoch"])
            let gone = try await app.fetch("phone", after: 5, epoch: before["epoch"].string, by: next)
            #expect(gone.status == 410 && gone.json["first"] == 1 && gone.json["last"] == 3, "\(gone.text)")
            let waiting = try await app.fetch("phone", by: next)
            #expect(waiting.numbers == [1, 2, 3], "\(waiting.text)")
            #expect(waiting.json["notifications"].array.map { $0["payload"] } == [3, 4, "once"])
            let posted = try await app.post(toPhone: "phone", "later", ["dedupId": "d"])
            #expect(posted["number"] == 4 && posted["previous"] == 3 && posted["epoch"] == registered["epoch"])
            let first = try await app.post(toPhone: "empty")
            #expect(first["number"] == 1 && first["previous"] == 0)
            try await registry.expectVerified()
        }
    }
}
